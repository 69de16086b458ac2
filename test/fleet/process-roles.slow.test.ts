import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { initKeys, memberEnv, planFleet } from '@hermes-fleet/cli';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { ROOT, runProgram, startFleet } from '../support/fleet.ts';
import { SHIPPED_SERVICES } from '../support/shipped.ts';

const MAIN = join(ROOT, 'services/profile/src/main.ts');

const start = (env: Record<string, string>, ...args: string[]) =>
  runProgram(process.execPath, [MAIN, ...args], { env: { ...process.env, ...env }, timeoutMs: 30_000 });

function lonelyEnv(t: TestContext, portOffset: number): Record<string, string> {
  const dir = tempDir(t);
  const plan = planFleet({ root: ROOT, dir, portOffset });
  initKeys({
    dir: plan.keysDir,
    services: SHIPPED_SERVICES,
    nats: {
      storeDir: plan.natsStoreDir,
      host: '127.0.0.1',
      port: plan.nats.port,
      syncAlways: false,
    },
  });
  const neo = plan.profiles.find(({ name }) => name === 'neo');
  assert.ok(neo);
  return memberEnv(plan, neo);
}

test('a second gateway of a profile, and one whose port is taken, end at once and say why', async (t) => {
  const fleet = await startFleet(t, ['switch', 'neo']);
  const plan = fleet.plan;
  const neo = plan.profiles.find(({ name }) => name === 'neo');
  assert.ok(neo);

  const second = await start(memberEnv(plan, neo), '--profile', 'neo');
  assert.equal(second.code, 1);
  assert.match(second.stderr, /profile neo is already served by another gateway process/);

  const taken = await start(lonelyEnv(t, plan.portOffset), '--profile', 'neo');
  assert.equal(taken.code, 1);
  assert.match(taken.stderr, new RegExp(`neo cannot listen on 127\\.0\\.0\\.1:${neo.port}`));

  assert.equal((await fetch(neo.readyUrl)).status, 200, 'the gateway that was there goes on');
});

test('a profile that only sends runs no listener: its gateway ends at once, and leaves nothing behind', async (t) => {
  const home = tempDir(t);
  const dir = join(home, 'profiles/sender');
  mkdirSync(dir, { recursive: true });
  const fleet = { enabled: false, tier: 'haiku', agents: { neo: { url: 'http://127.0.0.1:9220' } } };
  writeFileSync(join(dir, 'fleet.yaml'), JSON.stringify({ fleet }));
  writeFileSync(join(dir, 'config.yaml'), JSON.stringify({ model: 'offline/runbook' }));
  writeFileSync(join(dir, 'IDENTITY.md'), '# sender\n\nA profile that only sends.\n');
  const ended = await start({ HERMES_HOME: home }, '--profile', 'sender');
  assert.equal(ended.code, 0, ended.stderr);
  assert.match(ended.stdout, /fleet\.enabled is false: this profile sends and serves nothing/);
  assert.equal(existsSync(join(dir, 'state')), false);
});

test('a wrong configuration is one message with every problem, and nothing starts', async (t) => {
  const env = lonelyEnv(t, 31_000);
  for (const [what, set, args, says] of [
    ['no profile', {}, [], /no profile named/],
    ['an unknown profile', {}, ['--profile', 'nobody'], /fleet\.yaml/],
    ['a port that is no number', { NEO_PORT: 'abc' }, ['--profile', 'neo'], /bind_port: must be a port/],
    [
      'a port that is none',
      { NEO_PORT: '99999' },
      ['--profile', 'neo'],
      /fleet\.yaml:\d+ fleet\.server\.bind_port/,
    ],
    [
      'a missing token',
      { HERMES_KEYS_DIR: '/nonexistent' },
      ['--profile', 'neo'],
      /fleet\.yaml:\d+ fleet\.server\.callers\.operator\.token_env: A2A_HERMES_TOKEN_OPERATOR is not set/,
    ],
    ['an unknown option', {}, ['--porfile', 'neo'], /--porfile/],
  ] as const) {
    await t.test(what, async () => {
      const ended = await start({ ...env, ...set }, ...args);
      assert.equal(ended.code, 1);
      assert.match(ended.stderr, says);
      assert.doesNotMatch(ended.stderr, /at .*\.ts:\d+/, 'a stack trace');
    });
  }
});
