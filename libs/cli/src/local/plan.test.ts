import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { failure } from '../../testing/fleet-folder.ts';
import { memberCommands, natsCommand } from './commands.ts';
import { runningProcess } from './pid-file.ts';
import { planFleet, serviceEnv } from './plan.ts';
import { recordedOffset } from './port-offset.ts';
import type { ProcessCommand } from './start-process.ts';

const root = resolve(import.meta.dirname, '../../../..');

test('a port offset moves every port, and must keep them in range', () => {
  const plan = planFleet({ root, portOffset: 1000 });
  assert.deepEqual(
    plan.processes.map(({ port }) => port),
    [5222, 10_219, 10_220, 10_221, 10_222, 10_223, 10_224],
  );
  assert.throws(() => planFleet({ root, portOffset: 60_000 }), FleetError);
});

test('a damaged pid file or fleet.json is named with its remedy, and is no sign that nothing runs', (t) => {
  const dir = tempDir(t);
  const runDir = join(dir, 'run');
  mkdirSync(runDir);
  for (const text of ['', '{}', '{"name":"neo"']) {
    writeFileSync(join(runDir, 'neo.json'), text);
    writeFileSync(join(dir, 'fleet.json'), text);
    assert.throws(
      () => runningProcess(runDir, 'neo'),
      failure('CONFIG_INVALID', /run\/neo\.json is not a pid file.*then remove the file$/),
    );
    assert.throws(() => recordedOffset(dir), failure('CONFIG_INVALID', /fleet\.json is damaged: write /));
  }
  writeFileSync(join(dir, 'fleet.json'), '{"port_offset":100}');
  assert.deepEqual([recordedOffset(dir), recordedOffset(runDir)], [100, undefined]);
});

test('NATS, the trader and the console get no keys of providers, and a profile and a configuration that names one do', (t) => {
  const home = tempDir(t);
  const plan = { ...planFleet({ root }), home };
  const { trader = assert.fail(), profiles, console } = plan;
  const env = { PATH: '/bin', GROQ_API_KEY: 'secret', HTTPS_PROXY: 'http://proxy' };
  const keyOf = (command: ProcessCommand) => command.env.GROQ_API_KEY;
  const commandFor = memberCommands({ plan, env });
  assert.deepEqual(natsCommand(plan, 'nats-server', env).env, { PATH: '/bin', HOME: plan.dir });
  assert.deepEqual([trader, console].map(commandFor).map(keyOf), [undefined, undefined]);
  assert.equal(commandFor(console).env.HTTPS_PROXY, 'http://proxy');
  assert.equal(keyOf(commandFor(profiles[0] ?? assert.fail())), 'secret');
  mkdirSync(join(home, 'trader'));
  writeFileSync(join(home, 'trader/fleet.yaml'), 'key_env: GROQ_API_KEY');
  assert.equal(keyOf(commandFor(trader)), 'secret');
});

test("the operator's NODE_OPTIONS reach a service, and take precedence over the fleet's", () => {
  const plan = planFleet({ root });
  /** The largest heap of a Node.js process of the trader, MB: the old generation, and three semi-spaces. */
  const heapMb = (options: string): number => {
    const { NODE_OPTIONS } = serviceEnv(plan, plan.trader ?? assert.fail(), { NODE_OPTIONS: options });
    const code = 'v8.getHeapStatistics().heap_size_limit / 2 ** 20';
    return Number(execFileSync(process.execPath, ['-p', code], { env: { NODE_OPTIONS }, encoding: 'utf8' }));
  };
  assert.equal(heapMb('--max-old-space-size=100'), 100 + 3 * 32);
  assert.equal(heapMb('--max-old-space-size=100 --max-semi-space-size=8'), 100 + 3 * 8);
});
