import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { deadline } from '@hermes-fleet/protocol/testing';
import { openChain } from '../../testing/store/chain.ts';
import { decided, payload, type TestStore } from '../../testing/store/harness.ts';
import type { VerifyReport } from '../control/audit-verifier.ts';
import type { AuditRecord } from '../control/control-store.ts';
import { canonical } from './canonical.ts';

/** Applies `change` to the bytes of the closed file and verifies it. */
async function verifiedAfter(test: TestStore, change: (bytes: Buffer) => void): Promise<VerifyReport> {
  await (await test.reopen()).close();
  const bytes = readFileSync(test.file);
  change(bytes);
  writeFileSync(test.file, bytes);
  return (await test.reopen()).verify();
}

/** Offsets of a record and its hash in the file, including stale copies in freed pages. */
function placesOf(bytes: Buffer, { record, hash }: AuditRecord): number[] {
  const found: number[] = [];
  const text = canonical(record) + hash;
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) found.push(at);
  assert.ok(found.length > 0);
  return found;
}

test('one changed byte in any record or hash is detected', deadline, async (t) => {
  const test = await openChain(t);
  const [sixth] = test.store.audit(5, 1);
  assert.ok(sixth);
  const length = Buffer.byteLength(canonical(sixth.record));
  await test.store.close();
  const whole = readFileSync(test.file);
  for (const offset of [0, 1, Math.floor(length / 2), length - 1, length, length + 63]) {
    for (const bit of [1, 0x20, 0x80]) {
      const report = await verifiedAfter(test, (bytes) => {
        whole.copy(bytes);
        for (const place of placesOf(whole, sixth))
          bytes.writeUInt8(bytes.readUInt8(place + offset) ^ bit, place + offset);
      });
      const what = offset < length ? 'its record was changed' : 'its hash was changed';
      assert.deepEqual(report.broken, { seq: 6, reason: what }, `byte ${offset} of ${length}, bit ${bit}`);
    }
  }
});

test('a changed byte that decodes to the same character is detected', deadline, async (t) => {
  const test = await openChain(t);
  const [third] = test.store.audit(2, 1);
  assert.ok(third);
  const report = await verifiedAfter(test, (bytes) => {
    for (const place of placesOf(bytes, third)) bytes.writeUInt8(0xf0, bytes.indexOf('\ufffd', place));
  });
  assert.deepEqual(report.broken, { seq: 3, reason: 'its record was changed' });
});

test('an unreadable page is reported by the first record on it', deadline, async (t) => {
  const test = await openChain(t);
  for (let n = 0; n < 40; n += 1) await decided(test.store, payload({ reason: 'x'.repeat(900) }));
  const [record] = test.store.audit(24, 1);
  assert.ok(record);
  const report = await verifiedAfter(test, (bytes) => {
    const pageSize = bytes.readUInt16BE(16);
    for (const place of placesOf(bytes, record)) {
      const page = Math.floor(place / pageSize) * pageSize;
      bytes.fill(0xff, page, page + pageSize);
    }
  });
  assert.ok(report.broken && report.broken.seq > 1 && report.broken.seq <= 25, JSON.stringify(report));
  assert.equal(report.records, report.broken.seq - 1);
  assert.match(report.broken.reason, /^it cannot be read: /);
});
