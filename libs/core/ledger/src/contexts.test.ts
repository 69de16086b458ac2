import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { deadline, hasCode } from '@hermes-fleet/protocol/testing';
import { DONE, REQUEST } from '../testing/deletion.ts';
import { collect, never, newTask, openTestLedger } from '../testing/harness.ts';
import type { Ledger, NewTask } from './types.ts';

const SECRET = 'the-secret-of-the-brief';
/** A task with the secret in every place that a task can have it, ended unless told. */
async function secretTask(ledger: Ledger, overrides: Partial<NewTask> = {}, end = true): Promise<string> {
  const { id } = (
    await ledger.accept(
      newTask({
        message: { messageId: 'm', parts: [{ text: `message ${SECRET}` }] },
        dispatch: {
          type: 'TASK_DISPATCH',
          task: { task_id: 'k', root_id: 'root-1' },
          brief: `brief ${SECRET}`,
        },
        fingerprint: `fingerprint ${SECRET}`,
        ...overrides,
      }),
    )
  ).task;
  await ledger.append(id, { type: 'started', data: {} });
  await ledger.append(id, { type: 'text', data: { text: `text ${SECRET}` } });
  for (const size of [10, 20_000, 5])
    await ledger.saveCheckpoint(id, { conversation: [`${SECRET}`.repeat(size)] }, 'conversation');
  await ledger.ask(id, { key: 'q', text: `question ${SECRET}` });
  await ledger.answer(id, { messageId: 'a', text: `answer ${SECRET}`, message: { text: SECRET } });
  await ledger.append(id, { type: 'delegated', data: { peer: 'neo' } });
  await ledger.append(id, {
    type: 'progress',
    data: { peer: 'trinity', part: 'p', part_context_id: 'sub-1' },
  });
  if (end) await ledger.append(id, { type: 'done', data: {} }, { result: { text: `result ${SECRET}` } });
  return id;
}

/** The names of the ledger's files that contain the text. */
function filesWith(file: string, text: string): string[] {
  const dir = dirname(file);
  return readdirSync(dir).filter((name) => readFileSync(join(dir, name)).includes(text));
}

const publishAll = (ledger: Ledger): Promise<void> =>
  ledger.outbox.advance(ledger.outbox.read(0, 10_000).at(-1)?.seq ?? 0);

for (const published of [true, false])
  test(
    `a context's ${published ? '' : 'un'}published tasks are erased from the file and its log`,
    deadline,
    async (t) => {
      const { ledger, file, reopen } = openTestLedger(t);
      const id = await secretTask(ledger);
      const other = (await ledger.accept(newTask({ contextId: 'context-2' }))).task;
      if (published) await publishAll(ledger);
      const events = ledger.outbox.read(0, 100);
      const backlog = ledger.outbox.backlog();
      assert.notDeepEqual(filesWith(file, SECRET), []);

      const deletion = await ledger.contexts.delete(REQUEST);
      assert.deepEqual(deletion, {
        contextId: 'context-1',
        caller: 'switch',
        askedAt: deletion.askedAt,
        results: 'keep',
        tasks: 1,
        purged: false,
        removed: undefined,
        peers: [
          { peer: 'neo', contextId: 'context-1', state: 'pending' },
          { peer: 'trinity', contextId: 'sub-1', state: 'pending' },
        ],
      });
      await ledger.contexts.purge();
      assert.deepEqual(filesWith(file, SECRET), []);
      const purged = { ...deletion, purged: true };
      assert.deepEqual(ledger.contexts.deletions(), [purged]);
      assert.deepEqual(ledger.contexts.findDeletion('context-1'), purged);
      assert.equal(ledger.contexts.findDeletion('context-2'), undefined);

      assert.equal(ledger.get(id), undefined);
      assert.equal(ledger.list({ pageSize: 10 }).totalSize, 1);
      assert.deepEqual(ledger.events(id), []);
      await assert.rejects(ledger.append(id, { type: 'progress', data: {} }), hasCode('TASK_NOT_FOUND'));
      await assert.rejects(collect(ledger.watch(id, 0, never)), hasCode('TASK_NOT_FOUND'));
      await assert.rejects(ledger.saveCheckpoint(id, { text: SECRET }), hasCode('TASK_NOT_FOUND'));
      assert.deepEqual(ledger.get(other.id), other);

      const left = published ? events.filter(({ event }) => event.subject !== id) : events;
      assert.deepEqual(ledger.outbox.read(0, 100), left);
      assert.deepEqual(ledger.outbox.backlog(), backlog);
      const again = await reopen();
      assert.deepEqual(again.outbox.read(0, 100), left);
      assert.deepEqual(again.outbox.backlog(), backlog);
      const middle = left[1]?.seq ?? left[0]?.seq ?? 0;
      await again.outbox.advance(middle);
      assert.deepEqual(
        again.outbox.read(middle, 100).map(({ seq }) => seq),
        left.map(({ seq }) => seq).filter((seq) => seq > middle),
      );
      await publishAll(again);
      assert.equal(again.outbox.backlog().count, 0);
      const db = new DatabaseSync(file, { readOnly: true });
      assert.equal(db.prepare('SELECT count(*) AS n FROM erased_events').get()?.n, 0);
      db.close();
    },
  );

test('the figures and the spending of erased tasks stay', deadline, async (t) => {
  const { ledger, reopen } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  const entry = {
    kind: 'own',
    inputTokens: 100,
    outputTokens: 20,
    cacheReadTokens: 3,
    cacheWriteTokens: 4,
    source: 'metered',
    model: 'm',
  } as const;
  await ledger.tokens.settle(await ledger.tokens.reserve(id, entry, 'sonnet'), entry);
  await ledger.tokens.reserve(id, entry, 'sonnet');
  const counts = [{ counter: 'tasks', labels: ['done'], by: 1 } as const];
  await ledger.append(id, { type: 'done', data: {} }, { counts });
  const before = [ledger.figures.totals(), ledger.figures.spentOn('2026-01-01')];
  assert.equal(before[1]?.length, 1);
  await ledger.contexts.delete(REQUEST);
  assert.deepEqual([ledger.figures.totals(), ledger.figures.spentOn('2026-01-01')], before);
  const again = await reopen();
  assert.deepEqual([again.figures.totals(), again.figures.spentOn('2026-01-01')], before);
});

test('what cannot be deleted is refused, named and unchanged', deadline, async (t) => {
  const { ledger } = openTestLedger(t);
  const open = await secretTask(ledger, {}, false);
  const all = () => [ledger.list({ pageSize: 100 }), ledger.contexts.deletions()];
  const unchanged = async (request: typeof REQUEST | object, code: string, message: RegExp) => {
    const before = all();
    await assert.rejects(ledger.contexts.delete({ ...REQUEST, ...request }), { code, message });
    assert.deepEqual(all(), before);
  };
  await unchanged({ contextId: 'no-such' }, 'TASK_NOT_FOUND', /^context no-such is not known$/);
  await unchanged({ caller: 'stranger' }, 'TASK_NOT_FOUND', /^context context-1 is not known$/);
  await unchanged({}, 'CONTEXT_IN_USE', new RegExp(`${open}.*cancel`));
  await ledger.saveCheckpoint(open, { keep_after_end: true, secret: SECRET });
  await ledger.append(open, { type: 'error', data: {} });
  await unchanged({}, 'CONTEXT_IN_USE', new RegExp(`${open}.*a peer may still`));
  await ledger.dropKeptCheckpoint(open);
  const foreign = (await ledger.accept(newTask({ caller: 'neighbour' }))).task.id;
  await ledger.append(foreign, { type: 'done', data: {} });
  await unchanged({}, 'CONTEXT_SHARED', /^(?!.*neighbour).*another caller/);
});

test(
  'while a deletion is incomplete its context takes no task, and afterwards it begins anew',
  deadline,
  async (t) => {
    const { ledger, reopen } = openTestLedger(t);
    const task = newTask({ key: 'same' });
    await ledger.append((await ledger.accept(task)).task.id, { type: 'done', data: {} });
    await ledger.contexts.delete(REQUEST);
    const again = await reopen();
    assert.equal(again.contexts.deletions().length, 1);
    await again.contexts.purge();
    const next = { ...task, id: 'next' };
    await assert.rejects(again.accept(next), { code: 'CONTEXT_IN_USE', retryable: true, retryAfterS: 5 });
    assert.equal(again.list({ pageSize: 1 }).totalSize, 0);
    assert.deepEqual((await again.contexts.record('context-1', DONE))?.removed, DONE.removed);
    assert.deepEqual(again.contexts.deletions(), []);
    assert.equal((await again.accept(next)).created, true);
    assert.equal(await again.contexts.record('context-1', DONE), undefined);
  },
);

test('a deletion is complete when the files and every peer have answered', deadline, async (t) => {
  const { ledger } = openTestLedger(t);
  await secretTask(ledger);
  const { peers } = await ledger.contexts.delete(REQUEST);
  await ledger.contexts.purge();
  const [neo, trinity] = peers;
  assert.ok(neo && trinity);
  const record = async (progress: Partial<Parameters<typeof ledger.contexts.record>[1]>) => {
    const deletion = await ledger.contexts.record('context-1', { results: 'keep', peers: [], ...progress });
    return [deletion?.removed, deletion?.peers.map(({ state }) => state), ledger.contexts.deletions().length];
  };
  assert.deepEqual(await record({ peers: [{ ...neo, state: 'deleted' }] }), [
    undefined,
    ['deleted', 'pending'],
    1,
  ]);
  const refused = { ...trinity, state: 'pending', detail: 'does not answer' } as const;
  assert.deepEqual(await record({ removed: DONE.removed, peers: [refused] }), [
    DONE.removed,
    ['deleted', 'pending'],
    1,
  ]);
  assert.equal(ledger.contexts.deletions()[0]?.peers[1]?.detail, 'does not answer');
  assert.deepEqual(await ledger.contexts.delete(REQUEST), ledger.contexts.deletions()[0]);
  assert.deepEqual(await record({ peers: [{ ...trinity, state: 'unsupported' }] }), [
    DONE.removed,
    ['deleted', 'unsupported'],
    0,
  ]);
});

test('a caller that asks again for more begins the deletion again', deadline, async (t) => {
  const { ledger } = openTestLedger(t);
  await secretTask(ledger);
  const { peers } = await ledger.contexts.delete(REQUEST);
  const [neo] = peers;
  assert.ok(neo);
  await ledger.contexts.record('context-1', { ...DONE, peers: [{ ...neo, state: 'deleted', detail: 'x' }] });
  const more = await ledger.contexts.delete({ ...REQUEST, results: 'delete' });
  assert.deepEqual([more.results, more.removed, more.peers], ['delete', undefined, peers]);
  // A step that began before knows nothing of it.
  assert.deepEqual(await ledger.contexts.record('context-1', DONE), more);
  assert.deepEqual(await ledger.contexts.delete(REQUEST), more);
  await assert.rejects(ledger.contexts.delete({ ...REQUEST, caller: 'stranger' }), hasCode('TASK_NOT_FOUND'));
});

test('a deletion is not complete before its purge, which may be the last', deadline, async (t) => {
  const { ledger, reopen } = openTestLedger(t);
  await ledger.append((await ledger.accept(newTask())).task.id, { type: 'done', data: {} });
  await ledger.contexts.delete(REQUEST);
  const recorded = await ledger.contexts.record('context-1', DONE);
  assert.deepEqual([recorded?.removed, recorded?.purged], [DONE.removed, false]);
  const again = await reopen();
  await assert.rejects(again.accept(newTask()), hasCode('CONTEXT_IN_USE'));
  await again.contexts.purge();
  assert.deepEqual(again.contexts.deletions(), []);
  assert.equal((await again.accept(newTask())).created, true);
  await assert.rejects(again.contexts.delete({ ...REQUEST, contextId: 'x' }), hasCode('TASK_NOT_FOUND'));
});

test('a purge reports that another process reads the file, and can be tried again', deadline, async (t) => {
  const { ledger, file } = openTestLedger(t);
  await secretTask(ledger);
  const reader = new DatabaseSync(file, { readOnly: true });
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM tasks').get();
  await ledger.contexts.delete(REQUEST);
  await assert.rejects(ledger.contexts.purge(), hasCode('STORE_UNAVAILABLE', /another process/));
  reader.close();
  await ledger.contexts.purge();
  assert.deepEqual(filesWith(file, SECRET), []);
});

test('the peers that a task was sent to are known from its events and its result', deadline, async (t) => {
  const { ledger } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  const { id: other } = (await ledger.accept(newTask())).task;
  await ledger.append(other, { type: 'delegated', data: { peer: 'of-another-task' } });
  const part = { peer: 'neo', part: 'p', part_context_id: 'sub-1' };
  await ledger.append(id, { type: 'delegated', data: part });
  await ledger.append(id, { type: 'progress', data: { ...part, state: 'working' } });
  await ledger.append(id, { type: 'progress', data: { step: 1 } });
  await ledger.append(
    id,
    { type: 'done', data: {} },
    { result: { attempts: [{ peer: 'neo' }, { peer: 'morpheus' }] } },
  );
  assert.deepEqual(ledger.contexts.sentBy(id), [
    { peer: 'morpheus', kind: 'task', contextId: undefined },
    { peer: 'neo', kind: 'task', contextId: undefined },
    { peer: 'neo', kind: 'subtask', contextId: 'sub-1' },
  ]);
});
