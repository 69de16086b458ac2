import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { failure } from '../../testing/fleet-folder.ts';
import { runningProcess } from './pid-file.ts';
import { planFleet, serviceEnv } from './plan.ts';
import { recordedOffset } from './port-offset.ts';

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
