import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { deadline } from '@hermes-fleet/protocol/testing';
import { DONE, REQUEST } from '../testing/deletion.ts';
import { newTask, openTestLedger } from '../testing/harness.ts';

test('a caller has at most 1,000 incomplete deletions', deadline, async (t) => {
  const { ledger, file } = openTestLedger(t);
  const ended = async (contextId: string, caller: string): Promise<void> => {
    const { task } = await ledger.accept(newTask({ contextId, caller }));
    await ledger.append(task.id, { type: 'done', data: {} });
  };
  await ended('context-1', 'switch');
  await ended('one-more', 'switch');
  await ended('of-another', 'neo');
  await ledger.contexts.delete(REQUEST);
  // The others are copies: asking for each of them takes long.
  const db = new DatabaseSync(file);
  db.exec(`CREATE TEMP TABLE copy AS SELECT * FROM context_deletions; BEGIN`);
  const insert = db.prepare('INSERT INTO context_deletions SELECT * FROM copy');
  const rename = db.prepare('UPDATE copy SET context_id = ?');
  for (let at = 2; at <= 1_000; at += 1) {
    rename.run(`open-${at}`);
    insert.run();
  }
  db.exec('COMMIT');
  db.close();
  const more = { ...REQUEST, contextId: 'one-more' };
  await assert.rejects(ledger.contexts.delete(more), {
    code: 'QUEUE_FULL',
    message: /^1000 deletions of switch are not complete/,
    retryAfterS: 5,
  });
  assert.equal(ledger.hasContext('one-more'), true, 'nothing is erased');
  assert.equal((await ledger.contexts.delete(REQUEST)).tasks, 1, 'a repeat is answered');
  await ledger.contexts.delete({ ...REQUEST, contextId: 'of-another', caller: 'neo' });
  await ledger.contexts.record('context-1', DONE);
  await ledger.contexts.purge();
  assert.equal((await ledger.contexts.delete(more)).tasks, 1);
});
