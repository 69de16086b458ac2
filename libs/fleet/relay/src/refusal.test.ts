import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bareResult, type TaskResult, type Unmet } from '@hermes-fleet/protocol/handshake';
import type { DelegationOutcome } from './delegation/delegate-options.ts';
import { isInForce, refusalOf, withRefusal } from './refusal.ts';
import type { Refusal } from './relay-state.ts';

const AT = 1_000_000;
const shortest = { now: AT, random: () => 0 };
const longest = { now: AT, random: () => 1 };

const blocked = (...unmet: Unmet[]): DelegationOutcome => {
  const result: TaskResult = {
    type: 'TASK_RESULT',
    protocolVersion: '2.0',
    taskId: 't',
    status: 'blocked',
    tokensSpent: 0,
    nextSteps: [],
    blockedReason: 'no',
    artifacts: { filesChanged: [] },
    unmet,
  };
  return { kind: 'result', result };
};
const dirty: Unmet = { kind: 'repo', name: 'main', detail: 'dirty', transient: true };
const lacking: Unmet = { kind: 'capability', name: 'x', detail: 'lacks x', transient: false };
const refusing = (delegated: DelegationOutcome, before: readonly Refusal[] = [], how = shortest): Refusal =>
  refusalOf(delegated, 'neo', before, how) ?? assert.fail('no refusal');

describe('a refusal', () => {
  const grounds: [string, DelegationOutcome, boolean][] = [
    ['of what may pass', blocked(dirty), true],
    ['of what does not pass', blocked(lacking), false],
    ['of both', blocked(dirty, lacking), false],
    ['without a reason that can be read', blocked(), false],
    ['by a peer that is away', { kind: 'refused', reason: 'r', declined: false }, true],
    ['by a peer that says no', { kind: 'refused', reason: 'r', declined: true }, false],
  ];
  for (const [what, delegated, transient] of grounds)
    it(`${what} is ${transient ? '' : 'not '}transient`, () =>
      assert.equal(refusing(delegated).transient, transient));

  it('does not exist when the work may have begun', () => {
    assert.equal(refusalOf({ kind: 'failed' }, 'neo', [], shortest), undefined);
  });

  it('holds for 1–2 s, then twice as long each time, up to 30 s', () => {
    let before: Refusal[] = [];
    const holds: number[] = [];
    for (let i = 0; i < 8; i += 1) {
      const next = refusing(blocked(dirty), before, i === 7 ? longest : shortest);
      holds.push((next.until - AT) / 1000);
      before = withRefusal(before, next);
    }
    assert.deepEqual(holds, [1, 2, 4, 8, 15, 15, 15, 30]);
    assert.equal(before.length, 1);
  });

  it('replaces the earlier one and comes last', () => {
    const other = { ...refusing(blocked(dirty)), peer: 'trinity' };
    const both = withRefusal(
      withRefusal(withRefusal([], refusing(blocked(dirty))), other),
      refusing(blocked(lacking)),
    );
    assert.deepEqual(
      both.map(({ peer }) => peer),
      ['trinity', 'neo'],
    );
  });

  const rows: [string, DelegationOutcome, number | undefined, number, boolean][] = [
    // title, time of an announce (ms after the refusal), time of the check (ms after), in force
    ['is held for its pause, whatever is announced', blocked(dirty), 10, 999, true],
    ['ends with its pause when the peer announced itself anew', blocked(dirty), 10, 1_000, false],
    ['is held longer by a peer that says nothing new', blocked(dirty), -10, 14_999, true],
    ['ends after a while all the same', blocked(dirty), -10, 15_000, false],
    ['for good is held until an announce', blocked(lacking), -10, 10_000_000, true],
    ['for good ends with an announce', blocked(lacking), 10, 1_000, false],
    ['by a peer that is away ends with its pause', { kind: 'refused', reason: 'r' }, undefined, 1_000, false],
    ['by a peer that is away is held for its pause', { kind: 'refused', reason: 'r' }, 5, 999, true],
  ];
  for (const [what, delegated, announcedAfter, askedAfter, held] of rows)
    it(what, () => {
      const receivedAt = announcedAfter === undefined ? undefined : AT + announcedAfter;
      assert.equal(isInForce(refusing(delegated), { receivedAt }, AT + askedAfter), held);
    });

  it('holds for a peer that is no longer known', () => {
    assert.ok(isInForce(refusing(blocked(lacking)), undefined, AT + 1e9));
  });
});

it('a peer where the task failed at once is not asked again for it: it would answer with the same failure', () => {
  const result = {
    ...bareResult('t-1'),
    status: 'error' as const,
    error: { code: 'model_failed', message: 'no answer', retryable: true },
    usage: { inputTokens: 5, outputTokens: 0, model: 'm', source: 'metered' as const },
  };
  const refusal = refusalOf({ kind: 'result', result }, 'neo', [], { now: 0, random: () => 0 });
  assert.ok(refusal && isInForce(refusal, { receivedAt: 60_000 }, 60_000));
});
