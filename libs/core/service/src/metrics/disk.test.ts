import assert from 'node:assert/strict';
import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { Registry } from 'prom-client';
import { registerDisk } from './disk.ts';

async function shown(registry: Registry): Promise<ReadonlyMap<string, number>> {
  const lines = (await registry.metrics()).split('\n').filter((line) => line.startsWith('fleet_'));
  return new Map(lines.map((line) => [line.split(' ')[0] ?? '', Number(line.split(' ')[1])]));
}

test('each scrape has the size of the ledger with its write-ahead log, and the disk as the system reports it', async (t) => {
  const file = join(tempDir(t, { prefix: 'disk-' }), 'ledger.db');
  writeFileSync(file, 'x'.repeat(1000));
  const registry = new Registry();
  registerDisk(registry, file);
  assert.equal((await shown(registry)).get('fleet_ledger_size_bytes'), 1000);
  writeFileSync(`${file}-wal`, 'x'.repeat(50));
  appendFileSync(file, 'x');
  const { blocks, bsize } = await statfs(file);
  const now = await shown(registry);
  assert.equal(now.get('fleet_ledger_size_bytes'), 1051);
  assert.equal(now.get('fleet_disk_size_bytes'), blocks * bsize);
  const free = now.get('fleet_disk_free_bytes') ?? 0;
  assert.ok(free > 0 && free <= blocks * bsize, `${free} free`);
});

test('a file that cannot be read is omitted, and shown again when it is back', async (t) => {
  const file = join(tempDir(t, { prefix: 'disk-' }), 'ledger.db');
  const registry = new Registry();
  registerDisk(registry, file);
  assert.deepEqual([...(await shown(registry)).keys()], []);
  writeFileSync(file, 'x');
  assert.equal((await shown(registry)).size, 3);
  rmSync(file);
  assert.equal((await shown(registry)).size, 0);
});
