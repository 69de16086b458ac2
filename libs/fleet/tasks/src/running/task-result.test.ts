import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeResult } from '@hermes-fleet/protocol/handshake';
import type { RunOutcome } from '@hermes-fleet/protocol/ports';
import { blockedEnding, encodeEnding, errorOutcome, runEnding } from './task-result.ts';
import { endingData } from './write-ending.ts';

const run = (spent = 10, canceled = false) => ({
  taskId: 't-1',
  profile: 'neo',
  spent,
  usage: { inputTokens: spent, outputTokens: 0, model: 'm', source: 'metered' } as const,
  durationMs: 12.4,
  canceled,
});
const COST = { usage: undefined, tier: 'haiku', limit: undefined, saved: 0 };
const outcome = (status: RunOutcome['status'], extra: Partial<RunOutcome> = {}): RunOutcome => ({
  status,
  nextSteps: [],
  blockedReason: null,
  artifacts: { filesChanged: ['a.ts'] },
  ...extra,
});

describe('the TASK_RESULT of a run', () => {
  const table: [string, RunOutcome, number, boolean, string, object][] = [
    ['done', outcome('done'), 10, false, 'done', { status: 'done', tokens_spent: 10, blocked_reason: null }],
    [
      'partial',
      outcome('partial', { remaining: ['x'] }),
      10,
      false,
      'partial',
      { status: 'partial', remaining: ['x'] },
    ],
    [
      'a budget that does not pay for the first call',
      errorOutcome('BUDGET_EXHAUSTED', 'too little', false),
      0,
      false,
      'blocked',
      { status: 'blocked', blocked_reason: 'too little', tokens_spent: 0 },
    ],
    [
      'a budget that is used up',
      errorOutcome('BUDGET_EXHAUSTED', 'used up', false),
      10,
      false,
      'error',
      { error: { code: 'budget_exhausted', message: 'used up', retryable: false } },
    ],
    ['partial without remaining', outcome('partial'), 10, false, 'partial', { remaining: [] }],
    [
      'error',
      errorOutcome('MODEL_FAILED', 'm', true),
      10,
      false,
      'error',
      { error: { code: 'model_failed', message: 'm', retryable: true } },
    ],
    [
      'error without details',
      outcome('error'),
      10,
      false,
      'error',
      { error: { code: 'internal', message: 'the executor gave no reason', retryable: false } },
    ],
    [
      'blocked',
      outcome('blocked', { blockedReason: 'b' }),
      0,
      false,
      'blocked',
      { status: 'blocked', tokens_spent: 0, blocked_reason: 'b' },
    ],
    [
      'blocked without a reason',
      outcome('blocked'),
      0,
      false,
      'blocked',
      { blocked_reason: 'the executor gave no reason' },
    ],
    [
      'blocked after tokens were spent',
      outcome('blocked', { blockedReason: 'b' }),
      5,
      false,
      'error',
      { status: 'error', blocked_reason: null, error: { code: 'blocked', message: 'b', retryable: true } },
    ],
    [
      'canceled',
      errorOutcome('canceled', 'c', false),
      7,
      true,
      'canceled',
      { status: 'error', tokens_spent: 7, error: { code: 'canceled', message: 'c', retryable: false } },
    ],
  ];
  for (const [what, given, spent, canceled, event, expected] of table)
    it(`for ${what}`, () => {
      const ending = runEnding(given, run(spent, canceled));
      const wire = encodeEnding(ending, '2.0', ['2.0']);
      assert.equal(ending.event, event);
      for (const [key, value] of Object.entries(expected)) assert.deepEqual(wire[key], value, key);
      assert.doesNotThrow(() => decodeResult(wire));
      assert.equal(wire.executed_by, 'neo');
    });

  it('puts only small values into the event', () => {
    const given = outcome('done', {
      text: 'long words of a model',
      remaining: ['the brief'],
      output: { secret: 1 },
    });
    const usage = { inputTokens: 6, outputTokens: 1, cacheReadTokens: 4, delegatedTokens: 3, model: 'm' };
    const cost = { ...COST, usage: { ...usage, source: 'metered' as const }, limit: 9 };
    assert.deepEqual(endingData(runEnding(given, run()), cost), {
      status: 'done',
      tokens_spent: 10,
      own_tokens: 7,
      delegated_tokens: 3,
      usage: {
        input_tokens: 6,
        output_tokens: 1,
        cache_read_tokens: 4,
        cache_write_tokens: 0,
        reasoning_tokens: 0,
      },
      model: 'm',
      model_tier: 'haiku',
      budget_tokens: 9,
      overrun: true,
      executed_by: 'neo',
      duration_ms: 12,
    });
  });

  it('bounds the text of a caller or a peer in the event', () => {
    const long = 'x'.repeat(900_000);
    const unmet = Array.from({ length: 1_000 }, () => ({
      kind: 'mcp' as const,
      name: long,
      detail: long,
      transient: false,
    }));
    const error = { code: long, message: long, retryable: false };
    for (const given of [
      outcome('blocked', { blockedReason: long, unmet, executedBy: long }),
      outcome('error', { error, executedBy: long }),
    ])
      assert.ok(JSON.stringify(endingData(runEnding(given, run(0)), COST)).length < 4_000);
  });

  it('names every unmet requirement of a blocked task', () => {
    const ending = blockedEnding(
      't-1',
      [
        { kind: 'mcp', name: 'trek', detail: 'one', transient: true },
        { kind: 'repo', name: 'main', detail: 'two', transient: true },
      ],
      'neo',
    );
    assert.equal(ending.result.blockedReason, 'one; two');
    assert.equal(ending.result.tokensSpent, 0);
    assert.equal(endingData(ending, COST).reason, 'mcp');
    assert.deepEqual(endingData(ending, COST).unmet, [
      { kind: 'mcp', name: 'trek' },
      { kind: 'repo', name: 'main' },
    ]);
    assert.doesNotThrow(() => decodeResult(encodeEnding(ending, '2.0', ['2.0'])));
  });
});
