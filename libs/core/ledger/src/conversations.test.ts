import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import type { JsonObject, JsonValue } from '@hermes-fleet/protocol';
import { deadline, hasCode } from '@hermes-fleet/protocol/testing';
import { REQUEST } from '../testing/deletion.ts';
import { newTask, openTestLedger } from '../testing/harness.ts';
import type { Ledger, NewTask } from './types.ts';

const DAY_MS = 86_400_000;

interface Work extends Partial<NewTask> {
  /** `task` of the dispatch. */
  readonly asks?: JsonObject;
  readonly says?: readonly JsonValue[];
  readonly keeps?: boolean;
  readonly ends?: string;
  readonly result?: JsonObject;
}

const begin = async (ledger: Ledger, { asks = {}, ...task }: Work = {}): Promise<string> =>
  (await ledger.accept(newTask({ ...task, dispatch: { task: asks, brief: 'x' } }))).task.id;

/** A task that says something and ends. */
async function work(ledger: Ledger, o: Work = {}): Promise<string> {
  const { says = ['hi'], keeps = true, ends = 'done', result = { status: 'done' }, ...task } = o;
  const id = await begin(ledger, task);
  const state = { step: 1, messages: [...says], ...(keeps ? { keep_conversation: true } : {}) };
  await ledger.saveCheckpoint(id, state, 'messages');
  await ledger.append(id, { type: ends, data: {} }, { result });
  await ledger.outbox.advance(ledger.outbox.read(0, 10_000).at(-1)?.seq ?? 0);
  return id;
}

/** What a new task finds. */
async function found(ledger: Ledger, task: Work = {}): Promise<readonly JsonValue[] | undefined> {
  const id = await begin(ledger, task);
  const earlier = ledger.earlierConversation(id);
  await ledger.append(id, { type: 'canceled', data: {} });
  await ledger.outbox.advance(ledger.outbox.read(0, 10_000).at(-1)?.seq ?? 0);
  return earlier?.messages;
}

test(
  'a task leaves its last messages and how it ended to the next task, also after a restart',
  deadline,
  async (t) => {
    const { ledger, reopen } = openTestLedger(t);
    const error = { code: 'step_limit', message: 'the limit', retryable: false };
    const result = { status: 'partial', text: 'long', remaining: ['b'], next_steps: ['verify a'], error };
    const says = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b' },
    ];
    await work(ledger, { says, result });
    const again = await reopen();
    const next = await begin(again);
    const { text: _text, ...end } = result;
    assert.deepEqual(again.earlierConversation(next), { messages: says, isWhole: true, result: end });
    await again.saveCheckpoint(next, { keep_conversation: true, messages: [...says, 'c'] }, 'messages');
    assert.deepEqual(again.earlierConversation(next)?.messages, says, 'it counts when the task has ended');
    await again.append(next, { type: 'canceled', data: {} });
    assert.deepEqual(await found(again), [...says, 'c']);
  },
);

test(
  'a task that never ran, was blocked or keeps nothing leaves the earlier conversation in place',
  deadline,
  async (t) => {
    const { ledger } = openTestLedger(t);
    await work(ledger, { says: ['first'] });
    for (const ends of ['canceled', 'error', 'done'])
      await ledger.append(await begin(ledger), { type: ends, data: {} });
    await work(ledger, { says: ['blocked'], ends: 'blocked' });
    await work(ledger, { says: ['relayed'], keeps: false });
    assert.deepEqual(await found(ledger), ['first']);
    await work(ledger, { says: ['failed'], ends: 'error' });
    assert.deepEqual(await found(ledger), ['failed']);
  },
);

test('nobody finds a conversation of another caller, context or name', deadline, async (t) => {
  const { ledger } = openTestLedger(t);
  const keys: Work[] = [
    {},
    { caller: 'other' },
    { contextId: 'context-2' },
    { asks: { conversation: 'a' } },
    { asks: { conversation: 'b', path: ['switch'] } },
    { asks: { conversation: 'a' }, caller: 'other' },
  ];
  for (const key of keys) assert.equal(await found(ledger, key), undefined);
  for (const [index, key] of keys.entries()) await work(ledger, { ...key, says: [index] });
  for (const [index, key] of keys.entries()) assert.deepEqual(await found(ledger, key), [index]);
});

test(
  'a task that came through an orchestrator which does not name the conversation finds and leaves none',
  deadline,
  async (t) => {
    const { ledger } = openTestLedger(t);
    await work(ledger, { says: ['own'] });
    const relayed = { asks: { path: ['switch'] } };
    assert.equal(await found(ledger, relayed), undefined);
    await work(ledger, { ...relayed, says: ['relayed'] });
    assert.equal(await found(ledger, relayed), undefined);
    assert.deepEqual(await found(ledger), ['own']);
  },
);

test('of a conversation of more than 4 MiB the newest messages are kept', deadline, async (t) => {
  const { ledger } = openTestLedger(t);
  const says = ['a', 'b', 'c', 'd', 'e'].map((letter) => letter.repeat(1024 * 1024));
  await work(ledger, { says });
  const id = await begin(ledger);
  const earlier = ledger.earlierConversation(id);
  assert.deepEqual([earlier?.messages.length, earlier?.isWhole], [3, false]);
  assert.deepEqual(earlier?.messages, says.slice(2));
  await ledger.append(id, { type: 'canceled', data: {} });
  await work(ledger, { says: ['a', 'b'.repeat(5 * 1024 * 1024)] });
  assert.deepEqual(await found(ledger), []);
});

test(
  'a task whose message is nested deeper than SQLite reads leaves its conversation',
  deadline,
  async (t) => {
    const { ledger } = openTestLedger(t);
    const metadata = JSON.parse(`${'{"a":'.repeat(1_200)}1${'}'.repeat(1_200)}`);
    const dispatch = { task: { conversation: 'deep' }, brief: 'x' };
    const message = { messageId: 'm', parts: [{ data: dispatch }], metadata };
    const accept = async () => (await ledger.accept(newTask({ message, dispatch }))).task.id;
    const id = await accept();
    await ledger.saveCheckpoint(id, { messages: ['hi'], keep_conversation: true }, 'messages');
    await ledger.append(id, { type: 'done', data: {} }, { result: { status: 'done' } });
    assert.equal(ledger.get(id)?.state, 'completed');
    assert.deepEqual(ledger.earlierConversation(await accept())?.messages, ['hi']);
    assert.equal(await found(ledger), undefined, 'the conversation has its name');
  },
);

const filesWith = (file: string, text: string): string[] =>
  readdirSync(dirname(file)).filter((name) => readFileSync(join(dirname(file), name)).includes(text));

const SECRET = 'a-secret-of-the-conversation';

test(
  'the retention removes a conversation with the last task of its context, and a purge its bytes',
  deadline,
  async (t) => {
    const { ledger, clock, file } = openTestLedger(t);
    const prune = (): Promise<number> => ledger.prune(clock.now(), 10);
    await work(ledger, { says: [SECRET] });
    clock.advance(DAY_MS);
    await work(ledger, { caller: 'other', says: ['other'] });
    assert.equal(await ledger.prune(clock.now(), 10), 1);
    assert.deepEqual(await found(ledger), [SECRET], 'the context has a task of another caller');
    clock.advance(DAY_MS);
    assert.equal(await prune(), 2);
    for (const key of [{}, { caller: 'other' }]) assert.equal(await found(ledger, key), undefined);
    await ledger.contexts.purge();
    assert.deepEqual(filesWith(file, SECRET), []);
  },
);

test(
  'a deletion erases the conversation, whose caller is remembered as long as it is there',
  deadline,
  async (t) => {
    const { ledger, clock, file } = openTestLedger(t);
    await work(ledger, { says: [SECRET] });
    clock.advance(DAY_MS);
    const other = await work(ledger, { caller: 'other', says: ['other'] });
    await ledger.prune(clock.now(), 10);
    clock.advance(DAY_MS);
    const later = { before: clock.now() + 1 };
    assert.deepEqual(ledger.contexts.remembered('', 10, later), [{ contextId: 'context-1', mayGo: false }]);
    assert.equal(await ledger.contexts.forget(['context-1'], later), 0);
    const shared = hasCode('CONTEXT_SHARED');
    await assert.rejects(ledger.contexts.delete({ ...REQUEST, caller: 'other' }), shared);
    assert.ok(ledger.get(other));
    await ledger.prune(clock.now(), 10);
    assert.equal(await ledger.contexts.forget(['context-1'], later), 2, 'both conversations are gone');

    await work(ledger, { says: [SECRET] });
    await ledger.contexts.delete(REQUEST);
    await ledger.contexts.purge();
    assert.deepEqual(filesWith(file, SECRET), []);
  },
);
