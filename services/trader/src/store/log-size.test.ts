import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { test } from 'node:test';
import { deadline } from '@hermes-fleet/protocol/testing';
import { attemptOf, openSeeded } from '../../testing/store/harness.ts';
import { refusal } from '../control/screening.ts';

/** Four times the size that starts a checkpoint, which is where writing waits, and a margin for the last batch. */
const MOST_BYTES = 18 * 1024 * 1024;

test('the write-ahead log starts again at a size that a trader reaches', deadline, async (t) => {
  const { store, file } = await openSeeded(t);
  const attempt = attemptOf('x'.repeat(16_000));
  const response = refusal(undefined, [{ code: 'invalid_payload', message: 'is not JSON' }]).response;
  for (let written = 0; written < 2 * MOST_BYTES; written += 64 * 16_000)
    await Promise.all(Array.from({ length: 64 }, () => store.refuse(attempt, response)));
  const { size } = statSync(`${file}-wal`);
  assert.ok(size < MOST_BYTES, `the log has ${size} bytes`);
});
