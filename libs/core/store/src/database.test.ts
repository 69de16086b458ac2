import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { enableWal, openingError } from './database.ts';

test('opening fails on a file system without support for a write-ahead log', () => {
  using memory = new DatabaseSync(':memory:');
  assert.throws(() => enableWal(memory, 'ledger.db'), {
    code: 'CONFIG_INVALID',
    message: /cannot hold a write-ahead log; use a local disk/,
  });
});

test('any error of opening a file becomes an error of the catalogue', () => {
  assert.equal(
    openingError('ledger.db', 'odd').message,
    'cannot open ledger.db: odd; its directory must be writable by this user',
  );
});
