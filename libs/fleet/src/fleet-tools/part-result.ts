import type { JsonObject, JsonValue, RunOutcome, ToolResult } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { cappedJson, cappedList, cappedText } from './capped.ts';

const MAX_TEXT = 20_000;
const MAX_OUTPUT = 20_000;
const MAX_LINES = 50;
const MAX_REASON = 1_000;

/**
 * What became of a part, as the model is told: what the peer says is data, and cut to size. Blocked and failed work is a
 * result that it can act on.
 */
export function partResult(outcome: RunOutcome, tokensSpent: number): ToolResult {
  const { status, executedBy, text = '', output, artifacts, remaining = [], nextSteps } = outcome;
  const { attempts = [] } = outcome;
  const told: JsonObject = {
    status,
    ...(executedBy === undefined ? {} : { executed_by: cappedText(executedBy, 100) }),
    tokens_spent: tokensSpent,
    ...(outcome.error ? { error: failureView(outcome.error) } : {}),
    ...(status === 'blocked' ? blockedView(outcome) : {}),
    ...(text === '' ? {} : { text: cappedText(text, MAX_TEXT) }),
    ...(output === undefined ? {} : { output: cappedJson(Json.parse(output), MAX_OUTPUT) }),
    ...listed('files_changed', artifacts.filesChanged),
    ...listed('remaining', remaining),
    ...listed('next_steps', nextSteps),
    ...(attempts.length > 1 ? { attempts: attemptsView(attempts) } : {}),
  };
  const ok = status === 'done' || status === 'partial';
  return { ok, output: told, detail: `${executedBy ?? attempts.at(-1)?.peer ?? 'no peer'}: ${status}` };
}

/** What came over the wire is JSON. */
const Json = z.json();

const listed = (name: string, list: readonly string[]): JsonObject =>
  list.length === 0 ? {} : { [name]: cappedList(list, MAX_LINES) };

function failureView({ code, message, retryable }: NonNullable<RunOutcome['error']>): JsonObject {
  return { code: cappedText(code, 100), message: cappedText(message, MAX_REASON), retryable };
}

function blockedView({ blockedReason, unmet = [] }: RunOutcome): JsonObject {
  const reasons = unmet.slice(0, MAX_LINES).map(
    ({ kind, name, detail, transient }): JsonValue => ({
      kind,
      transient,
      name: cappedText(name, 100),
      detail: cappedText(detail, 300),
    }),
  );
  return { blocked_reason: cappedText(blockedReason ?? '', MAX_REASON), unmet: reasons };
}

function attemptsView(attempts: NonNullable<RunOutcome['attempts']>): JsonValue[] {
  return attempts.slice(-MAX_LINES).map(({ peer, status, reason }) => ({
    peer,
    status,
    ...(reason ? { reason: cappedText(reason, 300) } : {}),
  }));
}
