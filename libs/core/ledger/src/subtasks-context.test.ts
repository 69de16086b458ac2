import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { silentLog, systemIds } from '@hermes-fleet/protocol/ports';
import { manualClock, tempDir } from '@hermes-fleet/protocol/testing';
import { openLedger } from './ledger.ts';

test('the token of a task is fixed for a file, and differs from all names that are told', async (t) => {
  const dir = tempDir(t);
  const open = (file: string) =>
    openLedger({
      file: join(dir, file),
      profile: 'switch',
      clock: manualClock(),
      ids: systemIds,
      log: silentLog,
    });
  const [one, other] = [open('a.db'), open('b.db')];
  const token = one.contexts.repositoryToken('t');
  assert.match(token, /^[0-9a-f]{64}$/);
  const names = [
    one.contexts.subtasksContextId('repository', 't'),
    one.contexts.conversationName('repository', 'token', 't'),
  ];
  assert.ok(names.every((name) => !token.includes(name.replace(/^sub-/, '').slice(0, 32))));
  assert.equal(
    new Set([token, other.contexts.repositoryToken('t'), one.contexts.repositoryToken('u')]).size,
    3,
  );
  await one.close();
  const again = open('a.db');
  assert.equal(again.contexts.repositoryToken('t'), token);
  await Promise.all([again.close(), other.close()]);
});

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
