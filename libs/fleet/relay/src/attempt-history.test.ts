import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Attempt, TaskResult } from '@hermes-fleet/protocol/handshake';
import { errorOutcome } from '@hermes-fleet/tasks';
import { attemptRecord, bookDelegated, explanationOf, withAttempt } from './attempt-history.ts';

const attempt = (peer: string, status: string, startedAt = 's', tokensSpent = 0): Attempt => ({
  peer,
  status,
  reason: null,
  tokensSpent,
  startedAt,
  endedAt: 'e',
});
const names = (attempts: readonly Attempt[]): string[] =>
  attempts.map(({ peer, status, startedAt }) => `${peer} ${status} ${startedAt}`);

describe('the attempts of a task', () => {
  it('keep one entry for an unreachable peer, from its first failure on', () => {
    let attempts: Attempt[] = [];
    for (const [at, peer] of ['neo', 'trinity', 'neo', 'trinity', 'neo'].entries())
      attempts = withAttempt(attempts, attempt(peer, 'unreachable', `${at}`));
    assert.deepEqual(names(attempts), ['neo unreachable 0', 'trinity unreachable 1']);
    attempts = withAttempt(attempts, attempt('trinity', 'blocked', '5'));
    attempts = withAttempt(attempts, attempt('neo', 'unreachable', '6'));
    assert.deepEqual(names(attempts).slice(2), ['trinity blocked 5', 'neo unreachable 6']);
  });

  it('stay bounded, and lose no spent tokens', () => {
    let attempts: Attempt[] = [];
    for (let i = 0; i < 20; i += 1) {
      for (let n = 0; n < 10; n += 1)
        attempts = withAttempt(attempts, attempt(`p${n}`, 'unreachable', `${i}`));
      attempts = withAttempt(attempts, attempt('p', 'blocked', `${i}`, 1));
    }
    assert.equal(attempts.length, 100);
    assert.equal(attempts.filter(({ status }) => status === 'blocked').length, 20);
    assert.equal(
      attempts.reduce((sum, { tokensSpent }) => sum + tokensSpent, 0),
      20,
    );
  });

  it('keep a bounded part of a long explanation', () => {
    const one = {
      verdict: 'excluded' as const,
      score: 0,
      reasons: Array.from({ length: 50 }, () => 'r'.repeat(999)),
    };
    const considered = Array.from({ length: 1_000 }, (_, at) => ({ peer: `p${at}`, ...one }));
    const kept = explanationOf({ chosen: undefined, considered, unmet: [], waitable: false });
    assert.equal(kept.length, 20);
    assert.ok(JSON.stringify(kept).length < 20_000);
  });
});

describe('the record of an attempt', () => {
  it("has the peer's id of the task, but not that of a prose peer, which serves no results", () => {
    const current = { peer: 'neo', messageId: 'm', contextId: 'c', payload: {}, startedAt: 's' };
    const failed = { kind: 'failed' as const, outcome: errorOutcome('INTERNAL', 'm', false) };
    const idIn = (change: object) =>
      attemptRecord({ ...current, ...change }, failed, undefined, 0).peerTaskId;
    assert.deepEqual(
      [idIn({ remoteTaskId: 'r' }), idIn({ remoteTaskId: 'r', prose: true }), idIn({})],
      ['r', undefined, undefined],
    );
  });
});

describe('the tokens that a peer reports', () => {
  const current = { peer: 'neo', messageId: 'm', contextId: 'c', payload: {}, startedAt: 's' };
  const reporting = (tokensSpent: number): Attempt => {
    const result: TaskResult = {
      type: 'TASK_RESULT',
      protocolVersion: '2.0',
      taskId: 't',
      status: 'done',
      tokensSpent,
      nextSteps: [],
      blockedReason: null,
      artifacts: { filesChanged: [] },
    };
    return attemptRecord(current, { kind: 'result', result }, undefined, 0);
  };

  it('are limited to what a task can spend, so that absurd figures do not distort the account', async () => {
    const attempts = Array.from({ length: 20 }, () => reporting(Number.MAX_SAFE_INTEGER));
    let booked = 0;
    const usage = () => ({
      inputTokens: 0,
      outputTokens: 0,
      model: 'm',
      source: 'reported' as const,
      delegatedTokens: booked,
    });
    const budget = {
      limit: undefined,
      spent: () => booked,
      remaining: () => 0,
      usage,
      reserve: () => Promise.reject(new Error('no model here')),
      delegatedTo: () => 0,
      addDelegated: async (tokens: number) => {
        assert.ok(Number.isSafeInteger(tokens));
        booked += tokens;
      },
    };
    await bookDelegated(budget, attempts);
    await bookDelegated(budget, attempts);
    assert.equal(booked, 20_000_000_000);
  });

  it('are otherwise kept unchanged', () => assert.equal(reporting(12_345).tokensSpent, 12_345));
});
