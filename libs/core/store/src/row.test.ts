import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flag, integer, integerOrNull, rowReader, text, textOrNull } from './row.ts';

const read = rowReader({ id: text, peer: textOrNull, at: integer, ended_at: integerOrNull, entered: flag });
const row = { id: 'a', peer: null, at: 7, ended_at: null, entered: 1, more: 'not asked for' };

test('the columns of a row are read by their names, each as it is told', () => {
  assert.deepEqual(read(row), { id: 'a', peer: null, at: 7, ended_at: null, entered: true });
  assert.deepEqual(read({ ...row, peer: 'neo', ended_at: 9, entered: 0 }), {
    ...{ id: 'a', peer: 'neo', at: 7, ended_at: 9, entered: false },
  });
});

test('a column of another type is named as damage', () => {
  assert.throws(() => read({ ...row, peer: 5 }), { code: 'STORE_UNAVAILABLE', message: /unreadable "peer"/ });
  assert.throws(() => read({ ...row, at: null }), { code: 'STORE_UNAVAILABLE', message: /unreadable "at"/ });
});
