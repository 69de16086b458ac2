import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { RunOutcome } from '@hermes-fleet/protocol/ports';
import { DONE } from '../../testing/scripts.ts';
import { subtaskResult } from './subtask-result.ts';

function told(outcome: RunOutcome): JsonObject {
  const { output } = subtaskResult(outcome, 5);
  assert.ok(isJsonObject(output));
  return output;
}

describe("the model's view of a subtask", () => {
  it('is short when there is little to report', () => {
    assert.deepEqual(subtaskResult({ ...DONE, executedBy: 'neo', text: 'yes' }, 5), {
      ok: true,
      output: { status: 'done', executed_by: 'neo', tokens_spent: 5, text: 'yes' },
      detail: 'neo: done',
    });
  });

  it('has the rest of partial work, and the reason of a failure', () => {
    const partial = subtaskResult(
      { ...DONE, status: 'partial', remaining: ['b'], nextSteps: ['c'], output: [1] },
      5,
    );
    assert.deepEqual(
      [partial.ok, partial.output],
      [true, { status: 'partial', tokens_spent: 5, output: [1], remaining: ['b'], next_steps: ['c'] }],
    );
    const error = { code: 'peer_unreachable', message: 'it is away', retryable: true };
    const failed = subtaskResult({ ...DONE, status: 'error', error }, 0);
    assert.deepEqual(
      [failed.ok, failed.output, failed.detail],
      [false, { status: 'error', tokens_spent: 0, error }, 'no peer: error'],
    );
  });

  it('is truncated, whatever a peer sends', () => {
    const long = 'x'.repeat(1_000_000);
    const many = Array.from({ length: 5_000 }, () => long.slice(0, 2_000));
    const unmet = many.map((name) => ({ kind: 'repo' as const, name, detail: name, transient: true }));
    const attempt = {
      peer: 'neo',
      status: 'blocked',
      reason: long,
      tokensSpent: 0,
      startedAt: '',
      endedAt: '',
    };
    const outcome: RunOutcome = {
      status: 'blocked',
      blockedReason: long,
      unmet,
      attempts: Array.from({ length: 150 }, () => attempt),
      executedBy: long,
      text: long,
      output: { deep: long },
      remaining: many,
      nextSteps: many,
      artifacts: { filesChanged: many },
      error: { code: long, message: long, retryable: false },
    };
    assert.ok(JSON.stringify(told(outcome)).length < 200_000);
    const { text, files_changed: files } = told(outcome);
    assert.match(String(text), /… \[980000 characters more\]$/);
    assert.ok(Array.isArray(files) && files.length === 51 && files.at(-1) === '… and 4950 more');
  });
});
