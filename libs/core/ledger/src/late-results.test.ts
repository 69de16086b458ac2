import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { TokenEntry } from '@hermes-fleet/protocol/ports';
import { newTask, openTestLedger } from '../testing/harness.ts';

const KEPT: JsonObject = { relay: 1, keep_after_end: true };
const LATE: JsonObject = { type: 'TASK_RESULT', status: 'done' };
const tokens = (inputTokens: number): TokenEntry => ({
  kind: 'delegated',
  inputTokens,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  source: 'reported',
  model: 'relay',
});

describe('a checkpoint that is kept after the end of its task', () => {
  it('is listed from then on, also after a restart', async (t) => {
    const { ledger, reopen } = openTestLedger(t);
    const { id } = (await ledger.accept(newTask())).task;
    await ledger.saveCheckpoint(id, KEPT);
    assert.deepEqual(ledger.keptCheckpoints(), []);
    await ledger.append(id, { type: 'error', data: {} });
    const again = await reopen();
    assert.deepEqual(again.keptCheckpoints(), [{ taskId: id, state: KEPT }]);
    assert.equal(again.lateResult(id), undefined);
    await again.saveCheckpoint(id, { relay: 2 });
    assert.deepEqual(again.loadCheckpoint(id), KEPT);
  });

  it('is replaced once by the late result, with its tokens', async (t) => {
    const { ledger, reopen } = openTestLedger(t);
    const { id } = (await ledger.accept(newTask())).task;
    await ledger.saveCheckpoint(id, KEPT);
    assert.equal(await ledger.saveLateResult(id, LATE, tokens(5)), false);
    await ledger.append(id, { type: 'canceled', data: {} }, { result: { status: 'error' } });
    assert.equal(await ledger.saveLateResult(id, LATE, tokens(5)), true);
    assert.equal(await ledger.saveLateResult(id, LATE, tokens(5)), false);
    await ledger.dropKeptCheckpoint(id);
    const again = await reopen();
    assert.deepEqual(again.lateResult(id), LATE);
    assert.deepEqual(again.keptCheckpoints(), []);
    assert.deepEqual(again.get(id)?.result, { status: 'error' });
    assert.deepEqual(
      again.tokens.entries(id).map(({ inputTokens }) => inputTokens),
      [5],
    );
  });

  it('is removed when nothing is left to be done, and with its task', async (t) => {
    const { ledger, clock } = openTestLedger(t);
    const [first, second] = [
      (await ledger.accept(newTask())).task.id,
      (await ledger.accept(newTask())).task.id,
    ];
    for (const id of [first, second]) {
      await ledger.saveCheckpoint(id, KEPT);
      await ledger.append(id, { type: 'error', data: {} });
    }
    await ledger.dropKeptCheckpoint(first);
    assert.equal(ledger.loadCheckpoint(first), undefined);
    for (const { seq } of ledger.events(second)) await ledger.outbox.advance(seq);
    const ended: string[] = [];
    ledger.figures.follow({ ended: (id) => void ended.push(id) });
    assert.equal(await ledger.prune(clock.now() + 1_000, 10), 2);
    assert.deepEqual(ledger.keptCheckpoints(), []);
    assert.ok(ended.includes(second), 'it spends no more');
  });
});

describe('a task that must be accepted until a time', () => {
  it('is not created after it, but is known if it came before', async (t) => {
    const { ledger, clock } = openTestLedger(t);
    const acceptUntil = clock.now() + 1_000;
    const task = { ...newTask(), key: 'k', acceptUntil };
    clock.advance(1_000);
    const { created } = await ledger.accept(task);
    clock.advance(1);
    const again = await ledger.accept({ ...task, id: 'another' });
    assert.deepEqual([created, again.created, again.task.id], [true, false, task.id]);
    await assert.rejects(ledger.accept({ ...newTask(), acceptUntil }), {
      code: 'DISPATCH_EXPIRED',
      message: /1 ms after its routing.accept_until: nothing was started/,
    });
    assert.equal(ledger.list({ pageSize: 1 }).totalSize, 1);
  });
});
