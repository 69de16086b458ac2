import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Ledger, openLedger } from '@hermes-fleet/ledger';
import { type Clock, silentLog, systemIds } from '@hermes-fleet/protocol/ports';
import { manualClock, recordingLog, START, tempDir } from '@hermes-fleet/protocol/testing';
import { type RetainedContexts, startRetention } from './retention.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function ledgerAt(t: TestContext, clock: Clock): Ledger {
  const dir = tempDir(t, { closeFirst: () => ledger.close() });
  const file = join(dir, 'l.db');
  const ledger = openLedger({ file, profile: 'neo', clock, ids: systemIds, log: silentLog });
  return ledger;
}

async function finished(
  ledger: Ledger,
  count: number,
  contextOf: (id: string) => string = () => 'c',
  peer?: string,
): Promise<void> {
  const ids = Array.from({ length: count }, () => systemIds.uuid());
  await Promise.all(
    ids.map(async (id) => {
      const work = { fingerprint: 'f', message: {}, dispatch: {} };
      await ledger.accept({ id, contextId: contextOf(id), caller: 'switch', key: id, ...work });
      if (peer !== undefined) await ledger.append(id, { type: 'delegated', data: { peer } });
      await ledger.append(id, { type: 'done', data: {} }, { result: {} });
    }),
  );
}

async function publishAll(ledger: Ledger): Promise<void> {
  const newest = ledger.outbox.read(0, 10_000).at(-1);
  if (newest) await ledger.outbox.advance(newest.seq);
}

const remembered = (ledger: Ledger): string[] =>
  ledger.contexts.remembered('', 10_000, { before: 0 }).map(({ contextId }) => contextId);

const left = (ledger: Ledger): number => ledger.list({ pageSize: 1 }).totalSize;

test('finished tasks are removed after their time, at start and every hour, unless their events are unpublished', async (t) => {
  const clock = manualClock();
  const ledger = ledgerAt(t, clock);
  await finished(ledger, 450);
  await publishAll(ledger);
  clock.advance(30 * DAY_MS + 1);
  await finished(ledger, 3);

  const retention = startRetention({
    ledger,
    finishedTasksDays: 30,
    conversationsMb: 1,
    clock,
    log: silentLog,
  });
  await clock.asleep(1);
  assert.equal(left(ledger), 3, 'more than one batch is old');

  clock.advance(30 * DAY_MS);
  await clock.asleep(1);
  assert.equal(left(ledger), 3, 'nothing of theirs is published');
  await publishAll(ledger);
  clock.advance(HOUR_MS);
  await clock.asleep(1);
  assert.equal(left(ledger), 0);
  await retention.close();
});

test('a ledger that cannot be written is retried after an hour', async () => {
  const clock = manualClock();
  const answers = [() => Promise.reject(new Error('disk full')), async () => 0];
  const prune = async (): Promise<number> => (answers.shift() ?? assert.fail('pruned too often'))();
  const nothing = {
    remembered: () => [],
    forget: async () => assert.fail('nothing to forget'),
    trimConversations: async () => 0,
  };
  const ledger = { prune, hasContext: () => false, contextIds: () => [], contexts: nothing };
  const retention = startRetention({
    ledger,
    finishedTasksDays: 1,
    conversationsMb: 1,
    clock,
    log: silentLog,
  });
  await clock.asleep(1);
  clock.advance(HOUR_MS);
  await clock.asleep(1);
  assert.equal(answers.length, 0);
  await retention.close();
});

test('contexts are pruned after the tasks that needed them, every hour, and a failure is retried', async (t) => {
  const clock = manualClock();
  const ledger = ledgerAt(t, clock);
  await finished(ledger, 1);
  await publishAll(ledger);
  const log = recordingLog();
  const calls: {
    known: boolean;
    ids: readonly string[];
    unusedBefore: number;
    resultsBefore: number | undefined;
  }[] = [];
  const contexts: RetainedContexts = {
    async prune({ unusedBefore, resultsBefore, hasTasks, contextIds }) {
      calls.push({ known: hasTasks('c'), ids: contextIds('', 10), unusedBefore, resultsBefore });
      if (calls.length === 1) throw new Error('no room');
      return { contexts: 1, results: 2 };
    },
    held: async () => () => false,
  };
  const retention = startRetention({
    ledger,
    finishedTasksDays: 30,
    conversationsMb: 1,
    resultsDays: 90,
    contexts,
    clock,
    log,
  });
  await clock.asleep(1);
  assert.deepEqual(calls, [
    { known: true, ids: ['c'], unusedBefore: START - 30 * DAY_MS, resultsBefore: START - 90 * DAY_MS },
  ]);
  clock.advance(30 * DAY_MS + 1);
  await clock.asleep(1);
  assert.deepEqual([calls.length, calls[1]?.known, calls[1]?.ids], [2, false, []]);
  assert.deepEqual(log.messages, [
    'warn: contexts without tasks not removed: trying again in an hour',
    'info: finished tasks removed',
    'info: contexts and results removed',
  ]);
  await retention.close();
});

test('closing ends the removal of contexts', async (t) => {
  const clock = manualClock();
  const log = recordingLog();
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  const contexts: RetainedContexts = {
    prune({ signal, resultsBefore }) {
      assert.equal(resultsBefore, undefined, 'unmerged results stay by default');
      resolve();
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
    held: () => assert.fail('the retention is closed'),
  };
  const retention = startRetention({
    ledger: ledgerAt(t, clock),
    finishedTasksDays: 30,
    conversationsMb: 1,
    contexts,
    clock,
    log,
  });
  await begun;
  await retention.close();
  assert.deepEqual(log.messages, []);
});

test('callers are forgotten when nothing is left of their contexts, here and at peers', async (t) => {
  const clock = manualClock();
  const ledger = ledgerAt(t, clock);
  const log = recordingLog();
  await finished(ledger, 450, (id) => id);
  await finished(ledger, 1, () => 'with-result');
  await finished(ledger, 1, () => 'at-peer', 'trinity');
  await publishAll(ledger);
  const held = new Set(['with-result']);
  let failures = 0;
  const contexts: RetainedContexts = {
    prune: async () => ({ contexts: 0, results: 0 }),
    async held() {
      if (failures-- > 0) throw new Error('no room');
      return (contextId) => held.has(contextId);
    },
  };
  const hour = async (): Promise<void> => {
    clock.advance(HOUR_MS);
    await clock.asleep(1);
  };
  const start = (resultsDays?: number) =>
    startRetention({ ledger, finishedTasksDays: 30, conversationsMb: 1, resultsDays, contexts, clock, log });
  clock.advance(30 * DAY_MS + 1);
  const retention = start();
  await clock.asleep(1);
  assert.equal(remembered(ledger).length, 452, 'no younger than the look at the workspace');
  failures = 1;
  await hour();
  assert.deepEqual(log.messages.slice(1), [
    'warn: callers of removed contexts not forgotten: trying again in an hour',
  ]);
  await hour();
  assert.deepEqual(remembered(ledger), ['at-peer', 'with-result']);
  clock.advance(1_000 * DAY_MS);
  await hour();
  assert.deepEqual(remembered(ledger), ['at-peer', 'with-result']);
  held.clear();
  await hour();
  assert.deepEqual(remembered(ledger), ['at-peer']);
  await retention.close();

  const longer = start(1_001);
  await clock.asleep(1);
  assert.deepEqual(remembered(ledger), ['at-peer'], 'the peer may have the result');
  clock.advance(DAY_MS);
  await clock.asleep(1);
  assert.deepEqual(remembered(ledger), []);
  await longer.close();
});

test('a member without contexts remembers the callers of pruned tasks for an hour', async (t) => {
  const clock = manualClock();
  const ledger = ledgerAt(t, clock);
  await finished(ledger, 3, (id) => id);
  await publishAll(ledger);
  clock.advance(30 * DAY_MS + 1);
  const retention = startRetention({
    ledger,
    finishedTasksDays: 30,
    conversationsMb: 1,
    clock,
    log: silentLog,
  });
  await clock.asleep(1);
  assert.equal(remembered(ledger).length, 3);
  clock.advance(HOUR_MS);
  await clock.asleep(1);
  assert.deepEqual(remembered(ledger), []);
  await retention.close();
});

test('the oldest conversations go when all together are too large', async (t) => {
  const clock = manualClock();
  const ledger = ledgerAt(t, clock);
  const accept = async (contextId: string): Promise<string> => {
    const id = systemIds.uuid();
    const work = { fingerprint: 'f', message: {}, dispatch: {} };
    await ledger.accept({ id, contextId, caller: 'switch', key: id, ...work });
    return id;
  };
  for (const contextId of ['a', 'b', 'c']) {
    const id = await accept(contextId);
    const state = { keep_conversation: true, messages: [contextId.repeat(400 * 1024)] };
    await ledger.saveCheckpoint(id, state, 'messages');
    await ledger.append(id, { type: 'done', data: {} }, { result: {} });
    clock.advance(1);
  }
  const log = recordingLog();
  const retention = startRetention({ ledger, finishedTasksDays: 30, conversationsMb: 1, clock, log });
  await clock.asleep(1);
  const isKept = async (contextId: string): Promise<boolean> =>
    ledger.earlierConversation(await accept(contextId)) !== undefined;
  assert.deepEqual([await isKept('a'), await isKept('b'), await isKept('c')], [false, true, true]);
  assert.ok(log.entries.some(({ message }) => /conversations removed/.test(message)));
  await retention.close();
});
