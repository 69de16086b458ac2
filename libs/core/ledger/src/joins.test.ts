import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newTask, openTestLedger } from '../testing/harness.ts';
import type { WorkerRecord } from './joins.ts';

const MINUTE = 60_000;
const token = (id: string, more: object = {}) => ({
  id,
  digest: `digest-of-${id}`,
  name: 'worker-*',
  terms: { endpoints: ['http://127.0.0.1:*'], scopes: ['announce', 'join'] },
  createdBy: 'operator',
  createdAt: 0,
  expiresAt: 15 * MINUTE,
  ...more,
});
const worker = (name: string, more: Partial<WorkerRecord> = {}): WorkerRecord => ({
  name,
  digest: `presented-by-${name}`,
  token: `presented-to-${name}`,
  url: `http://127.0.0.1:9230/${name}/jsonrpc`,
  scopes: ['announce', 'join'],
  joinToken: 'a',
  joinedAt: 1,
  leavingAt: undefined,
  ...more,
});
const LIMITS = { max: 3, forgetBefore: 0 };
const unauthenticated = (message: RegExp) => ({ code: 'UNAUTHENTICATED', message });

describe('a join token', () => {
  it('is used up in the transaction that stores the worker, and the same request again changes nothing', async (t) => {
    const { ledger, reopen } = openTestLedger(t);
    await ledger.joins.addToken(token('a'), LIMITS);
    const use = { request: 'r1', at: MINUTE };
    assert.equal(await ledger.joins.join(worker('worker-1'), use), true);
    assert.equal(await ledger.joins.join(worker('worker-1'), use), false);
    const { joins } = await reopen();
    assert.equal(await joins.join(worker('worker-1'), use), false);
    assert.deepEqual(joins.workers(), [worker('worker-1')]);
    assert.deepEqual(joins.findToken('digest-of-a')?.used, { at: MINUTE, by: 'worker-1', request: 'r1' });
    const used = unauthenticated(/was used by worker-1 already/);
    await assert.rejects(joins.join(worker('worker-1'), { request: 'r2', at: MINUTE }), used);
    await assert.rejects(joins.join(worker('worker-2'), { request: 'r2', at: MINUTE }), used);
    await assert.rejects(joins.join(worker('worker-2'), use), used);
    assert.equal(joins.workers().length, 1);
  });

  it('that is revoked, expired or unknown stores nothing', async (t) => {
    const { ledger } = openTestLedger(t);
    await ledger.joins.addToken(token('a'), LIMITS);
    await ledger.joins.addToken(token('b'), LIMITS);
    const late = { request: 'r', at: 15 * MINUTE };
    await assert.rejects(
      ledger.joins.join(worker('worker-1'), late),
      unauthenticated(/expired at 1970-01-01T00:15/),
    );
    assert.equal(await ledger.joins.revokeToken('b', MINUTE), true);
    assert.equal(await ledger.joins.revokeToken('b', MINUTE), false);
    const use = { request: 'r', at: MINUTE };
    await assert.rejects(
      ledger.joins.join(worker('worker-1', { joinToken: 'b' }), use),
      unauthenticated(/was revoked/),
    );
    await assert.rejects(
      ledger.joins.join(worker('worker-1', { joinToken: 'x' }), use),
      unauthenticated(/not known/),
    );
    assert.deepEqual(ledger.joins.workers(), []);
    assert.equal(await ledger.joins.join(worker('worker-1'), use), true);
    assert.equal(await ledger.joins.revokeToken('a', MINUTE), false, 'a used one is not revoked');
  });

  it('of two requests at the same time, joins one', async (t) => {
    const { ledger } = openTestLedger(t);
    await ledger.joins.addToken(token('a'), LIMITS);
    const ends = await Promise.allSettled(
      ['worker-1', 'worker-2'].map((name) => ledger.joins.join(worker(name), { request: name, at: MINUTE })),
    );
    assert.deepEqual(ends.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    assert.equal(ledger.joins.workers().length, 1);
  });

  it('is one of a bounded number, and is forgotten some time after its end', async (t) => {
    const { ledger } = openTestLedger(t);
    for (const id of ['a', 'b', 'c']) await ledger.joins.addToken(token(id), LIMITS);
    await assert.rejects(ledger.joins.addToken(token('d'), LIMITS), { code: 'QUEUE_FULL' });
    const later = token('e', { createdAt: 20 * MINUTE, expiresAt: 30 * MINUTE });
    await ledger.joins.addToken(later, { max: 3, forgetBefore: 10 * MINUTE });
    assert.deepEqual(
      ledger.joins.tokens().map(({ id }) => id),
      ['e', 'a', 'b', 'c'],
    );
    const last = token('f', { createdAt: 20 * MINUTE, expiresAt: 30 * MINUTE });
    await ledger.joins.addToken(last, { max: 3, forgetBefore: 16 * MINUTE });
    assert.deepEqual(
      ledger.joins.tokens().map(({ id }) => id),
      ['e', 'f'],
    );
  });
});

describe('a worker', () => {
  it('has its name, its token and its address alone', async (t) => {
    const { ledger } = openTestLedger(t);
    await ledger.joins.addToken(token('a'), LIMITS);
    await ledger.joins.addToken(token('b'), LIMITS);
    await ledger.joins.join(worker('worker-1'), { request: 'r', at: 1 });
    const use = { request: 's', at: 1 };
    await assert.rejects(ledger.joins.join(worker('worker-1', { joinToken: 'b' }), use), {
      code: 'FORBIDDEN',
    });
    const same = worker('worker-2', { joinToken: 'b', digest: 'presented-by-worker-1' });
    await assert.rejects(ledger.joins.join(same, use), {
      code: 'FORBIDDEN',
      message: /another worker has this token/,
    });
    const beside = worker('worker-2', { joinToken: 'b', url: worker('worker-1').url });
    await assert.rejects(ledger.joins.join(beside, use), {
      code: 'FORBIDDEN',
      message: /worker-1 has joined with http.* already/,
    });
    assert.equal(await ledger.joins.join(worker('worker-2', { joinToken: 'b' }), use), true);
  });

  it('leaves since its first request to, and is removed with its announce', async (t) => {
    const { ledger, reopen } = openTestLedger(t);
    await ledger.joins.addToken(token('a'), LIMITS);
    await ledger.joins.join(worker('worker-1'), { request: 'r', at: 1 });
    await ledger.savePeer({ agentId: 'worker-1', announce: {}, receivedAt: 1, caller: 'worker-1' });
    assert.equal((await ledger.joins.leave('worker-1', 5))?.leavingAt, 5);
    assert.equal((await ledger.joins.leave('worker-1', 9))?.leavingAt, 5);
    assert.equal(await ledger.joins.leave('worker-2', 9), undefined);
    const again = await reopen();
    assert.equal(again.joins.workers()[0]?.leavingAt, 5);
    assert.equal(await again.joins.removeWorker('worker-1', { isRevoked: false }), true);
    assert.equal(await again.joins.removeWorker('worker-1', { isRevoked: false }), false);
    assert.deepEqual([again.joins.workers(), again.peers()], [[], []]);
  });

  it('that is revoked gets no push notification any more, and one that leaves does', async (t) => {
    const { ledger } = openTestLedger(t);
    const target = { id: 'c', version: '1.0', url: 'https://hooks.example.org', position: 1 } as const;
    const save = async (caller: string) => {
      const { task } = await ledger.accept(newTask({ caller, key: caller }));
      await ledger.push.save(
        { ...target, taskId: task.id, token: undefined, authentication: undefined },
        { perTask: 2, perCaller: 3 },
      );
    };
    for (const [at, name] of ['worker-1', 'worker-2'].entries()) {
      await ledger.joins.addToken(token(name), LIMITS);
      await ledger.joins.join(worker(name, { joinToken: name }), { request: 'r', at });
      await save(name);
    }
    await save('operator');
    await ledger.joins.removeWorker('worker-1', { isRevoked: true });
    await ledger.joins.removeWorker('worker-2', { isRevoked: false });
    const callers = ledger.push.active(0, 10).map(({ caller }) => caller);
    assert.deepEqual(callers, ['worker-2', 'operator']);
  });
});
