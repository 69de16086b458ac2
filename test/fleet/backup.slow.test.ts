import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fleetDown } from '@hermes-fleet/cli';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { PROFILES, ROOT, readEvents, runProgram, startFleet, until } from '../support/fleet.ts';
import { readLedgerFile } from '../support/ledger-file.ts';
import { startProfile } from '../support/lone-profile.ts';
import { untilSeen } from '../support/peers-view.ts';
import { freeOffset } from '../support/ports.ts';
import { call } from '../support/rpc.ts';
import { resultWhenEnded, sendCommand } from '../support/sent-tasks.ts';

/** As root, the users of commands otherwise depend on the folder. */
const USERS = { HERMES_COMMAND_USERS: '2100000000-2100000999' };
const CLI = join(ROOT, 'libs/cli/src/main.ts');

async function runFleet(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram(process.execPath, [CLI, ...args]);
  assert.equal(code, 0, stdout + stderr);
  return stdout;
}

test('a fleet that is backed up at work and lost goes on from its backup', {
  timeout: 400_000,
}, async (t) => {
  // The shipped fleet runs from the repository: the folder that is lost here has none of its files.
  const fleet = await startFleet(t, [...PROFILES, 'trader'], { mcpServers: ['filesystem', 'memory'] });
  const before = await sendCommand(fleet.target('switch'), 'before', 'cat before.txt');
  assert.equal((await resultWhenEnded(fleet.target('switch'), before)).status, 'done');
  const ids = await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      sendCommand(fleet.target('switch'), `task-${at}`, `sleep 2; cat task-${at}.txt`),
    ),
  );
  await until(
    () =>
      readLedgerFile(join(fleet.dir, 'state/switch/ledger.db')).events.some(
        ({ type }) => type === 'delegated',
      ),
    'work to begin',
  );
  const folder = tempDir(t);
  const file = join(folder, 'fleet.tar.zst');
  const said = await runFleet('backup', file, '--dir', fleet.dir);
  assert.match(said, /^\S+: 20 folders, \d+ kB; the fleet stood still for [\d.]+ s$/m);
  const later = await sendCommand(fleet.target('switch'), 'later', 'cat later.txt');
  assert.equal((await resultWhenEnded(fleet.target('switch'), later)).status, 'done', 'the fleet goes on');
  await fleetDown({ plan: fleet.plan, clock: systemClock, graceMs: 0 });

  renameSync(fleet.dir, join(folder, 'lost'));
  assert.match(await runFleet('restore', file, '--dir', fleet.dir), /^restored 20 folders, as of 20/m);
  await fleet.up();

  await t.test('every accepted task is there, and ends', async () => {
    assert.equal((await resultWhenEnded(fleet.target('switch'), before)).status, 'done');
    const statuses = new Set<string>();
    for (const id of ids) {
      const result = await resultWhenEnded(fleet.target('switch'), id);
      // Nobody knows what became of a command that ran at that moment, so it is not repeated.
      const isCutOff = result.status === 'partial' && /outcome unknown/.test(result.text);
      assert.ok(result.status === 'done' || isCutOff, JSON.stringify(result));
      statuses.add(result.status);
    }
    assert.ok(statuses.has('done'));
    const { body } = await call(fleet.target('switch'), 'GetTask', { id: later });
    assert.equal(body.error?.code, -32001, 'what came later is unknown');
  });

  await t.test('the streams have the end of each task once, and the audit is sound', async () => {
    const isEnd = ({ type, subject }: { type: string; subject?: string }): boolean =>
      /\.(?:done|partial)\.v1$/.test(type) && ids.includes(subject ?? '');
    const events = await readEvents(fleet, (all) => all.filter(isEnd).length >= ids.length);
    assert.equal(events.filter(isEnd).length, ids.length);
    const offset = ['--dir', fleet.dir, '--port-offset', String(fleet.plan.portOffset)];
    assert.match(await runFleet('trader', 'audit', 'verify', ...offset), /^the audit is intact/);
  });
});

test('a profile that moves keeps its tasks', { timeout: 300_000 }, async (t) => {
  const folder = tempDir(t);
  const places = ['old', 'new'].map((name) => join(folder, name));
  const [old = '', moved = ''] = places;
  const stateOf = (dir: string) => ({
    HERMES_STATE_DIR: join(dir, 'state/neo'),
    HERMES_WORKSPACE_DIR: join(dir, 'workspaces/neo'),
  });
  const ports = await Promise.all([1, 2, 3].map(async () => 9219 + (await freeOffset())));
  const [switchPort = 0, oldPort = 0, newPort = 0] = ports;
  const tokens = { SWITCH_TO_NEO: `token-${randomUUID()}`, NEO_TO_SWITCH: `token-${randomUUID()}` };
  const worker = (port: number, dir: string) =>
    startProfile(t, {
      name: 'neo',
      port,
      fleet: {
        role: 'worker',
        agents: { switch: { url: `http://127.0.0.1:${switchPort}`, token_env: 'NEO_TO_SWITCH' } },
      },
      callers: { switch: { token_env: 'SWITCH_TO_NEO', scopes: ['announce', 'dispatch', 'read'] } },
      env: { ...tokens, ...USERS, ...stateOf(dir) },
    });
  const neo = await worker(oldPort, old);
  const orchestrator = await startProfile(t, {
    name: 'switch',
    port: switchPort,
    fleet: {
      role: 'orchestrator',
      orchestrate: true,
      routing: { peer_down_after_s: 600 },
      // The move takes minutes on a slow machine.
      queue: { max_wait_s: 600 },
      agents: { neo: { url: 'http://127.0.0.1:$' + '{NEO_PORT}', token_env: 'SWITCH_TO_NEO' } },
    },
    callers: { neo: { token_env: 'NEO_TO_SWITCH', scopes: ['announce'] } },
    env: { ...tokens, NEO_PORT: String(oldPort) },
  });
  await untilSeen(orchestrator, 'neo', ({ state }) => state === 'live', 'live');
  const ids = await Promise.all(
    Array.from({ length: 8 }, (_, at) =>
      sendCommand(orchestrator, `task-${at}`, `sleep 3; cat task-${at}.txt`, 'neo'),
    ),
  );
  const types = (): string[] =>
    readLedgerFile(join(old, 'state/neo/ledger.db')).events.map(({ type }) => type);
  await until(() => types().filter((type) => type === 'started').length >= 4, 'neo to begin');
  await neo.stop();
  const file = join(folder, 'neo.tar.zst');
  await runFleet('backup', file, '--dir', old, '--member', 'neo');
  await runFleet('restore', file, '--dir', moved);
  await worker(newPort, moved);
  await orchestrator.stop();
  await orchestrator.start({ NEO_PORT: String(newPort) });
  for (const id of ids) {
    const result = await resultWhenEnded(orchestrator, id);
    assert.deepEqual([result.status, result.executed_by], ['done', 'neo'], JSON.stringify(result));
  }
  const { events } = readLedgerFile(join(moved, 'state/neo/ledger.db'));
  assert.equal(events.filter(({ type }) => type === 'done').length, ids.length, 'each ended once');
});
