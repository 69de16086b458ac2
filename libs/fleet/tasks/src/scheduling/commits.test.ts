import assert from 'node:assert/strict';
import { StatementSync } from 'node:sqlite';
import { describe, it, type TestContext } from 'node:test';
import {
  CALLER,
  commitsOf,
  DONE,
  dispatching,
  inbound,
  type ProfileOptions,
  profile,
  type Script,
} from '@hermes-fleet/gateway/testing';
import type { JsonObject } from '@hermes-fleet/protocol';

/** The transactions of one task after another one, which has warmed everything. */
async function commitsOfTask(
  t: Parameters<typeof profile>[0],
  options: ProfileOptions,
  rest: JsonObject = {},
): Promise<{ commits: number; events: string[] }> {
  const neo = await profile(t, options);
  await neo.result(await neo.send(dispatching()));
  const before = commitsOf(neo);
  const id = await neo.send(dispatching({}, rest));
  await neo.result(id);
  return { commits: commitsOf(neo) - before, events: neo.events(id) };
}

/** The SELECT statements that databases run from now on. */
function readsFrom(t: TestContext): string[] {
  const reads: string[] = [];
  for (const name of ['get', 'all', 'iterate'] as const) {
    const read: unknown = StatementSync.prototype[name];
    assert.ok(typeof read === 'function');
    t.mock.method(StatementSync.prototype, name, function (this: StatementSync, ...params: unknown[]) {
      if (this.sourceSQL.startsWith('SELECT')) reads.push(this.sourceSQL);
      return Reflect.apply(read, this, params);
    });
  }
  return reads;
}

describe('a dispatch', () => {
  it('that runs at once is two transactions: acceptance with its start, and its end', async (t) => {
    const { commits, events } = await commitsOfTask(t, {});
    assert.deepEqual(events, ['submitted', 'queued', 'started', 'done']);
    assert.equal(commits, 2);
  });

  it('whose executor is free of effects is one transaction', async (t) => {
    const { commits, events } = await commitsOfTask(t, { isFreeOfEffects: true });
    assert.deepEqual(events, ['submitted', 'queued', 'started', 'done']);
    assert.equal(commits, 1);
  });

  it('reads its ledger twice: for a known task with its key, before it is judged and before it is stored', async (t) => {
    const neo = await profile(t);
    await neo.result(await neo.send(dispatching()));
    const reads = readsFrom(t);
    const id = await neo.send(dispatching());
    const record = await neo.ledger.settled(id, t.signal);
    // What the A2A server asks for its answer.
    assert.deepEqual([record.state, neo.ledger.questions(id)], ['completed', []]);
    assert.equal(neo.ledger.lateResult(id), undefined);
    assert.equal(reads.length, 2, reads.join('\n'));
    for (const read of reads) assert.match(read, /FROM tasks WHERE caller = \?\d* AND key = \?\d*/);
  });

  it('whose executor saves before it acts is two transactions: the save shares the first', async (t) => {
    const script: Script = async (_task, { checkpoint, reportEvent }) => {
      await Promise.all([checkpoint.save({ step: 1 }), reportEvent({ type: 'progress', data: { step: 1 } })]);
      return DONE;
    };
    const { commits, events } = await commitsOfTask(t, { savesBeforeEffects: true, script });
    assert.deepEqual(events, ['submitted', 'queued', 'started', 'progress', 'done']);
    assert.equal(commits, 2);
  });

  it('that is blocked is one transaction', async (t) => {
    const { commits, events } = await commitsOfTask(t, {}, { requirements: { required_mcp: ['nope'] } });
    assert.deepEqual(events, ['submitted', 'blocked']);
    assert.equal(commits, 1);
  });

  it('whose admission fails is one transaction', async (t) => {
    const neo = await profile(t);
    Object.defineProperty(neo.facts, 'clean', { get: () => assert.fail('bug') });
    await neo.send(dispatching());
    const before = commitsOf(neo);
    assert.equal((await neo.result(await neo.send(dispatching()))).status, 'error');
    assert.equal(commitsOf(neo) - before, 1);
  });

  it('is durable with its admission when its caller gets the answer', async (t) => {
    const neo = await profile(t, { script: () => new Promise(() => undefined) });
    const accepted = await neo.gateway.accept(inbound(dispatching()), CALLER);
    assert.ok(accepted.kind === 'task');
    assert.deepEqual(neo.events(accepted.taskId), ['submitted', 'queued', 'started']);
  });

  it('that many send at once shares its transactions with theirs', async (t) => {
    const neo = await profile(t, { fleet: { limits: { max_concurrent_tasks: 20 } } });
    await neo.result(await neo.send(dispatching()));
    const before = commitsOf(neo);
    const ids = await Promise.all(Array.from({ length: 20 }, () => neo.send(dispatching())));
    for (const id of ids) await neo.result(id);
    const commits = commitsOf(neo) - before;
    assert.ok(commits < 20, `${commits} transactions`);
  });
});
