import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Count, TokenEntry } from '@hermes-fleet/protocol/ports';
import { hasCode } from '@hermes-fleet/protocol/testing';
import { newTask, openTestLedger } from '../testing/harness.ts';
import type { Ledger } from './types.ts';

const DAY_MS = 86_400_000;
const tokens = (inputTokens: number, outputTokens: number, rest: Partial<TokenEntry> = {}): TokenEntry => ({
  kind: 'own',
  inputTokens,
  outputTokens,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  source: 'metered',
  model: 'm',
  ...rest,
});
const estimate = tokens(100, 50, { source: 'estimated' });
const delegated = tokens(7, 0, { kind: 'delegated', source: 'reported' });

const started = async (ledger: Ledger, caller = 'switch'): Promise<string> =>
  (await ledger.accept(newTask({ caller }))).task.id;
const end = (ledger: Ledger, id: string, counts: readonly Count[] = []) =>
  ledger.append(id, { type: 'done', data: {} }, { counts });
/** `counter labels sum`, sorted. */
const shown = (counts: readonly Count[]): string[] =>
  counts.map(({ counter, labels, by }) => `${counter} ${labels.join(' ')} ${by}`).sort();
const spending = (ledger: Ledger, day: string): string[] =>
  ledger.figures
    .spentOn(day)
    .map(({ caller, kind, tokens: sum, cacheTokens }) => `${caller} ${kind} ${sum} ${cacheTokens}`);

/** A ledger, and all that its figures have told a listener. */
function followed(t: TestContext) {
  const opened = openTestLedger(t);
  const told: string[] = [];
  const follow = (ledger: Ledger): void =>
    ledger.figures.follow({
      counted: (counts) => told.push(...shown(counts)),
      booked: ({ tokens: sum, day }) => told.push(`booked ${day.caller} ${day.kind} ${sum} of ${day.tokens}`),
      ended: () => told.push('ended'),
    });
  follow(opened.ledger);
  const today = new Date(opened.clock.now()).toISOString().slice(0, 10);
  return { ...opened, told, follow, today };
}

test('own tokens count when their call is settled, by caller and tier; delegated ones count for the day only', async (t) => {
  const { ledger, told, today } = followed(t);
  const id = await started(ledger);
  const call = await ledger.tokens.reserve(id, estimate, 'opus');
  assert.deepEqual([told, ledger.figures.totals(), spending(ledger, today)], [[], [], []]);
  await ledger.tokens.settle(call, tokens(90, 10, { cacheReadTokens: 5, cacheWriteTokens: 2 }));
  await ledger.tokens.add(id, delegated);
  assert.deepEqual(shown(ledger.figures.totals()), [
    'tokens_cached  7',
    'tokens_spent switch opus input 90',
    'tokens_spent switch opus output 10',
  ]);
  assert.deepEqual(spending(ledger, today), ['switch delegated 7 0', 'switch own 100 7']);
  assert.deepEqual(told, [
    'tokens_cached  7',
    'tokens_spent switch opus input 90',
    'tokens_spent switch opus output 10',
    'booked switch own 100 of 100',
    'booked switch delegated 7 of 7',
  ]);
});

test('the end of a task counts with its terminal event, once, and closes its open reservations', async (t) => {
  const { ledger, told, today } = followed(t);
  const id = await started(ledger);
  const call = await ledger.tokens.reserve(id, estimate, 'opus');
  const ended: Count = { counter: 'tasks', labels: ['opus', 'done'], by: 1 };
  assert.ok(await end(ledger, id, [ended]));
  assert.equal(await end(ledger, id, [ended]), undefined);
  const totals = [
    'tasks opus done 1',
    'tokens_spent switch opus input 100',
    'tokens_spent switch opus output 50',
  ];
  assert.deepEqual(shown(ledger.figures.totals()), totals);
  assert.deepEqual(told, [...totals, 'booked switch own 150 of 150', 'ended']);
  assert.deepEqual(spending(ledger, today), ['switch own 150 0']);
  // The result of the task has the estimate: what comes later changes neither it nor the sums.
  await ledger.tokens.settle(call, tokens(1, 1));
  assert.deepEqual(ledger.tokens.entries(id), [estimate]);
  assert.deepEqual(shown(ledger.figures.totals()), totals);
  await assert.rejects(ledger.tokens.reserve(id, estimate), hasCode('INTERNAL', /has ended/));
});

test('a write that fails counts nothing', async (t) => {
  const { ledger, told } = followed(t);
  const id = await started(ledger);
  const call = await ledger.tokens.reserve(id, estimate);
  await ledger.tokens.settle(call, tokens(1, 2));
  await assert.rejects(ledger.tokens.settle(call, tokens(1, 2)), hasCode('INTERNAL'));
  await assert.rejects(ledger.tokens.add('unknown', delegated), hasCode('TASK_NOT_FOUND'));
  const counts: Count[] = [{ counter: 'tasks', labels: ['none', 'done'], by: 1 }];
  await assert.rejects(ledger.append(id, { type: 'nonsense', data: {} }, { counts }), hasCode('INTERNAL'));
  assert.deepEqual(shown(ledger.figures.totals()), [
    'tokens_spent switch none input 1',
    'tokens_spent switch none output 2',
  ]);
  assert.equal(told.length, 3);
});

test('figures survive a restart and the removal of their tasks; the days before that time are removed with them', async (t) => {
  const { ledger, reopen, clock, today } = followed(t);
  const id = await started(ledger, 'operator');
  await ledger.tokens.add(id, delegated);
  await ledger.tokens.settle(await ledger.tokens.reserve(id, estimate, 'haiku'), tokens(3, 4));
  await end(ledger, id, [{ counter: 'tokens_saved', labels: [], by: 40 }]);
  const totals = ledger.figures.totals();
  const open = await started(ledger, 'operator');
  clock.advance(DAY_MS);
  const tomorrow = new Date(clock.now()).toISOString().slice(0, 10);
  await ledger.tokens.add(open, delegated);
  const again = await reopen();
  assert.deepEqual(again.figures.totals(), totals);
  assert.deepEqual(spending(again, today), ['operator delegated 7 0', 'operator own 7 0']);
  assert.deepEqual(spending(again, tomorrow), ['operator delegated 7 0']);
  await again.outbox.advance(again.outbox.read(0, 100).at(-1)?.seq ?? 0);
  assert.equal(await again.prune(clock.now(), 10), 1);
  assert.equal(again.get(id), undefined);
  assert.deepEqual(again.figures.totals(), totals);
  assert.deepEqual([spending(again, today), spending(again, tomorrow)], [[], ['operator delegated 7 0']]);
});
