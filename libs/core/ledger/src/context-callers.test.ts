import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadline, hasCode } from '@hermes-fleet/protocol/testing';
import { newTask, openTestLedger } from '../testing/harness.ts';
import type { RemovedFiles } from './context-types.ts';
import type { Ledger } from './types.ts';

const DAY_MS = 86_400_000;
const CONTEXT = 'context-1';
const KEEP = { contextId: CONTEXT, caller: 'switch', results: 'keep' } as const;
const DELETE = { ...KEEP, results: 'delete' } as const;

/**
 * An ended, published task that was sent to these peers: work to those of `sentTo`, subtasks to those of `subtasksTo`.
 */
async function ended(
  ledger: Ledger,
  o: {
    caller?: string;
    contextId?: string;
    sentTo?: readonly string[];
    subtasksTo?: readonly string[];
    /** The context of a message to the agent `helper`. */
    messageIn?: string;
  } = {},
): Promise<void> {
  const { caller = 'switch', contextId = CONTEXT, sentTo = [], subtasksTo = [] } = o;
  const { id } = (await ledger.accept(newTask({ caller, contextId }))).task;
  const part = { part: 'p', part_context_id: 'sub-1' };
  for (const peer of subtasksTo) await ledger.append(id, { type: 'progress', data: { peer, ...part } });
  if (o.messageIn !== undefined)
    await ledger.append(id, { type: 'progress', data: { agent: 'helper', agent_context_id: o.messageIn } });
  const result = { text: 'the result', attempts: sentTo.map((peer) => ({ peer })) };
  await ledger.append(id, { type: 'done', data: {} }, { result });
  await ledger.outbox.advance(ledger.outbox.read(ledger.outbox.cursor(), 10_000).at(-1)?.seq ?? 0);
}

/** Lets a day pass, and prunes all tasks of the time before. */
async function pruneAll({ ledger, clock }: ReturnType<typeof openTestLedger>, batch = 10): Promise<void> {
  clock.advance(DAY_MS);
  while ((await ledger.prune(clock.now(), batch)) > 0);
}

async function complete(ledger: Ledger, result: RemovedFiles['result']): Promise<void> {
  await ledger.contexts.purge();
  for (const { contextId, results, peers } of ledger.contexts.deletions())
    await ledger.contexts.record(contextId, {
      results,
      removed: { files: false, result },
      peers: peers.map((peer) => ({ ...peer, state: 'deleted' as const })),
    });
  assert.deepEqual(ledger.contexts.deletions(), []);
}

const remembered = (ledger: Ledger): string[] =>
  ledger.contexts.remembered('', 100, { before: 0 }).map(({ contextId }) => contextId);

test(
  'a caller deletes a context whose tasks were pruned one by one, at all their peers',
  deadline,
  async (t) => {
    const opened = openTestLedger(t);
    await ended(opened.ledger, { sentTo: ['trinity', 'neo'] });
    await ended(opened.ledger, { subtasksTo: ['trinity'] });
    await ended(opened.ledger);
    await pruneAll(opened, 1);
    assert.equal(opened.ledger.list({ pageSize: 1 }).totalSize, 0);
    const ledger = await opened.reopen();
    await assert.rejects(
      ledger.contexts.delete({ ...DELETE, caller: 'stranger' }),
      hasCode('TASK_NOT_FOUND', /^context context-1 is not known$/),
    );
    const deletion = await ledger.contexts.delete(DELETE);
    assert.deepEqual(deletion, {
      ...{ contextId: CONTEXT, caller: 'switch', askedAt: opened.clock.now(), results: 'delete' },
      ...{ tasks: 0, purged: false, removed: undefined },
      peers: [
        { peer: 'neo', contextId: CONTEXT, state: 'pending' },
        { peer: 'trinity', contextId: CONTEXT, state: 'pending' },
        { peer: 'trinity', contextId: 'sub-1', state: 'pending' },
      ],
    });
    await assert.rejects(ledger.accept(newTask()), hasCode('CONTEXT_IN_USE'));
    await complete(ledger, 'deleted');
    assert.deepEqual(remembered(ledger), []);
    await assert.rejects(ledger.contexts.delete(DELETE), hasCode('TASK_NOT_FOUND'));
  },
);

test('the peers of pruned tasks are asked with those of the tasks that are left', deadline, async (t) => {
  const opened = openTestLedger(t);
  const { ledger } = opened;
  await ended(ledger, { sentTo: ['neo'] });
  await pruneAll(opened);
  await ended(ledger, { sentTo: ['trinity'] });
  const { tasks, peers } = await ledger.contexts.delete(DELETE);
  assert.deepEqual([tasks, peers.map(({ peer }) => peer)], [1, ['neo', 'trinity']]);
});

for (const [result, sentTo, left] of [
  ['kept', [], [CONTEXT]],
  ['none', [], []],
  ['merged', [], []],
  ['none', ['neo'], [CONTEXT]],
] as const)
  test(`after keep with the result ${result} and ${sentTo.length} peers, ${left.length} callers are remembered`, async (t) => {
    const { ledger } = openTestLedger(t);
    await ended(ledger, { sentTo });
    await ledger.contexts.delete(KEEP);
    await complete(ledger, result);
    assert.deepEqual(remembered(ledger), left);
    for (const request of left.length > 0 ? [KEEP, DELETE] : []) {
      const { tasks, peers } = await ledger.contexts.delete(request);
      assert.deepEqual([tasks, peers.map(({ peer }) => peer)], [0, [...sentTo]]);
      await complete(ledger, request.results === 'keep' ? result : 'deleted');
    }
    await assert.rejects(ledger.contexts.delete(KEEP), hasCode('TASK_NOT_FOUND'));
  });

test('a context is shared with a caller that is remembered', deadline, async (t) => {
  const opened = openTestLedger(t);
  const { ledger, clock } = opened;
  await ended(ledger, { caller: 'neighbour' });
  await pruneAll(opened);
  await assert.rejects(ledger.contexts.delete(KEEP), hasCode('TASK_NOT_FOUND'));
  await ended(ledger);
  const isShared = hasCode('CONTEXT_SHARED', /^(?!.*neighbour).*another caller/);
  await assert.rejects(ledger.contexts.delete(KEEP), isShared);
  await assert.rejects(ledger.contexts.delete({ ...KEEP, caller: 'neighbour' }), isShared);
  await pruneAll(opened);
  await assert.rejects(ledger.contexts.delete(KEEP), isShared);
  assert.deepEqual(ledger.contexts.deletions(), []);
  assert.equal(await ledger.contexts.forget([CONTEXT], { before: clock.now() }), 1, 'the neighbour');
  assert.equal((await ledger.contexts.delete(KEEP)).tasks, 0);
});

test(
  'callers are forgotten after their time, those with work at peers only when told',
  deadline,
  async (t) => {
    const opened = openTestLedger(t);
    const { ledger, clock } = opened;
    for (const contextId of ['a', 'b', 'c']) await ended(ledger, { contextId });
    await ended(ledger, { contextId: 'd', sentTo: ['neo'] });
    await pruneAll(opened);
    const at = clock.now();
    const mayGo = (forgettable: Parameters<Ledger['contexts']['remembered']>[2]): string[] =>
      ledger.contexts
        .remembered('', 100, forgettable)
        .filter((each) => each.mayGo)
        .map(({ contextId }) => contextId);
    assert.deepEqual(mayGo({ before: at }), []);
    assert.deepEqual(mayGo({ before: at + 1 }), ['a', 'b', 'c']);
    assert.deepEqual(mayGo({ before: at + 1, peersBefore: at }), ['a', 'b', 'c']);
    assert.deepEqual(mayGo({ before: at + 1, peersBefore: at + 1 }), ['a', 'b', 'c', 'd']);
    assert.deepEqual(
      ledger.contexts.remembered('a', 2, { before: at + 1 }).map(({ contextId }) => contextId),
      ['b', 'c'],
    );

    clock.advance(1);
    await ended(ledger, { contextId: 'b' });
    await ledger.contexts.delete({ ...KEEP, contextId: 'b' });
    assert.equal(await ledger.contexts.forget(['a', 'b', 'd'], { before: at + 1 }), 1);
    assert.deepEqual(remembered(ledger), ['b', 'c', 'd'], 'b was remembered again, and d has work at a peer');
    assert.equal(await ledger.contexts.forget(['c', 'd'], { before: at + 1, peersBefore: at + 1 }), 2);
    assert.deepEqual(remembered(ledger), ['b']);
  },
);

test('agents that got messages of pruned tasks are named, and never asked', deadline, async (t) => {
  const opened = openTestLedger(t);
  const { ledger } = opened;
  // An agent may have the name of a peer, and its context an id that the peer knows.
  await ended(ledger, { sentTo: ['helper'], messageIn: CONTEXT });
  await pruneAll(opened);
  const detail = 'helper got messages over A2A, which has no deletion: have its operator delete this context';
  const asked = { peer: 'helper', contextId: CONTEXT, state: 'pending' };
  const named = { peer: 'helper', contextId: CONTEXT, state: 'unsupported', detail };
  assert.deepEqual((await ledger.contexts.delete(KEEP)).peers, [asked, named]);
  const answered = {
    results: 'keep',
    peers: [{ peer: 'helper', contextId: CONTEXT, state: 'deleted' }],
  } as const;
  const after = await ledger.contexts.record(CONTEXT, answered);
  assert.deepEqual(after?.peers, [{ ...asked, state: 'deleted' }, named]);
  assert.deepEqual((await ledger.contexts.delete(DELETE)).peers, [asked, named], 'more is asked for');
});

test('messages to agents do not keep a caller remembered, because nothing more can be deleted', async (t) => {
  const { ledger } = openTestLedger(t);
  await ended(ledger, { messageIn: 'x' });
  await ledger.contexts.delete(KEEP);
  await complete(ledger, 'none');
  assert.deepEqual(remembered(ledger), []);
});
