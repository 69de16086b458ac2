import assert from 'node:assert/strict';
import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { readDisk } from './disk.ts';
import { createMetrics, type FleetMetrics } from './metrics.ts';

const create = (): FleetMetrics =>
  createMetrics({ profile: 'neo', peers: [], callers: [], defaultMetrics: false });

async function shown({ registry }: FleetMetrics): Promise<ReadonlyMap<string, number>> {
  const lines = (await registry.metrics()).split('\n').filter((line) => /^fleet_(disk|ledger)/.test(line));
  return new Map(lines.map((line) => [line.split(' ')[0] ?? '', Number(line.split(' ')[1])]));
}

test('each scrape has the size of the ledger with its write-ahead log, and the disk as the system reports it', async (t) => {
  const file = join(tempDir(t, { prefix: 'disk-' }), 'ledger.db');
  writeFileSync(file, 'x'.repeat(1000));
  const metrics = create();
  readDisk(metrics, file);
  assert.equal((await shown(metrics)).get('fleet_ledger_size_bytes'), 1000);
  writeFileSync(`${file}-wal`, 'x'.repeat(50));
  appendFileSync(file, 'x');
  const { blocks, bsize } = await statfs(file);
  const now = await shown(metrics);
  assert.equal(now.get('fleet_ledger_size_bytes'), 1051);
  assert.equal(now.get('fleet_disk_size_bytes'), blocks * bsize);
  const free = now.get('fleet_disk_free_bytes') ?? 0;
  assert.ok(free > 0 && free <= blocks * bsize, `${free} free`);
});

test('a file that cannot be read is omitted, and shown again when it is back', async (t) => {
  const file = join(tempDir(t, { prefix: 'disk-' }), 'ledger.db');
  const metrics = create();
  readDisk(metrics, file);
  assert.deepEqual([...(await shown(metrics)).keys()], []);
  writeFileSync(file, 'x');
  assert.equal((await shown(metrics)).size, 3);
  rmSync(file);
  assert.equal((await shown(metrics)).size, 0);
});
