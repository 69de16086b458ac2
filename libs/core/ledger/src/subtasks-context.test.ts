import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { silentLog } from '@hermes-fleet/protocol/ports';
import { manualClock, tempDir } from '@hermes-fleet/protocol/testing';
import { openLedger } from './ledger.ts';

test("the context of subtasks is fixed for a file, a caller and a context, and the file's id does not tell it", async (t) => {
  const dir = tempDir(t);
  const ids = { uuid: () => 'published' };
  let known = [`sub-${'0'.repeat(40)}`, 'sub-', 'c', ''];
  const inFile = async (
    file: string,
    caller: string,
    contextId: string,
    repository?: string,
  ): Promise<string> => {
    const of = { file: join(dir, file), profile: 'switch', clock: manualClock(), ids, log: silentLog };
    const ledger = openLedger(of);
    assert.equal(ledger.id, 'published');
    const name = ledger.contexts.subtasksContextId(caller, contextId, repository);
    assert.equal(ledger.contexts.isSubtasksContextId(name), true);
    assert.deepEqual(known.filter(ledger.contexts.isSubtasksContextId), []);
    await ledger.close();
    return name;
  };
  const name = await inFile('a.db', 'one', 'c');
  assert.match(name, /^sub-[0-9a-f]{40}$/);
  assert.equal(await inFile('a.db', 'one', 'c'), name);
  known = [...known, name];
  const elsewhere = await inFile('b.db', 'one', 'c');
  known = [];
  const others = [
    elsewhere,
    await inFile('a.db', 'other', 'c'),
    await inFile('a.db', 'one', 'd'),
    await inFile('a.db', 'on', 'ec'),
    await inFile('a.db', 'one', 'c', 'web'),
    await inFile('a.db', 'one', 'c', 'api'),
  ];
  assert.equal(new Set([name, ...others]).size, 7);
});
