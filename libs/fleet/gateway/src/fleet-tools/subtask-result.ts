import type { JsonObject, JsonValue } from '@hermes-fleet/protocol';
import type { Unmet } from '@hermes-fleet/protocol/handshake';
import type { RunOutcome, ToolResult } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import { truncateJson, truncateList, truncateText } from '../tool-support/truncate.ts';

const MAX_TEXT = 20_000;
const MAX_OUTPUT = 20_000;
const MAX_LINES = 50;
const MAX_REASON = 1_000;

/** The model's view of a subtask's outcome. The peer's text is truncated. A blocked or failed subtask is not an error. */
export function subtaskResult(outcome: RunOutcome, tokensSpent: number): ToolResult {
  const { status, executedBy, text = '', output, artifacts, remaining = [], nextSteps } = outcome;
  const { attempts = [] } = outcome;
  const view: JsonObject = {
    status,
    ...(executedBy === undefined ? {} : { executed_by: truncateText(executedBy, 100) }),
    tokens_spent: tokensSpent,
    ...(outcome.error ? { error: failureView(outcome.error) } : {}),
    ...(status === 'blocked' ? blockedView(outcome) : {}),
    ...(text === '' ? {} : { text: truncateText(text, MAX_TEXT) }),
    ...(output === undefined ? {} : { output: truncateJson(Json.parse(output), MAX_OUTPUT) }),
    ...listed('files_changed', artifacts.filesChanged),
    ...listed('remaining', remaining),
    ...listed('next_steps', nextSteps),
    ...(attempts.length > 1 ? { attempts: attemptsView(attempts) } : {}),
  };
  const ok = status === 'done' || status === 'partial';
  return { ok, output: view, detail: `${executedBy ?? attempts.at(-1)?.peer ?? 'no peer'}: ${status}` };
}

const Json = z.json();

const listed = (name: string, list: readonly string[]): JsonObject =>
  list.length === 0 ? {} : { [name]: truncateList(list, MAX_LINES) };

function failureView({ code, message, retryable }: NonNullable<RunOutcome['error']>): JsonObject {
  return { code: truncateText(code, 100), message: truncateText(message, MAX_REASON), retryable };
}

function blockedView({ blockedReason, unmet = [] }: RunOutcome): JsonObject {
  return {
    blocked_reason: truncateText(blockedReason ?? '', MAX_REASON),
    unmet: unmet.slice(0, MAX_LINES).map(unmetView),
  };
}

/** An unmet requirement as a model reads it. */
export const unmetView = ({ kind, name, detail, transient }: Unmet): JsonValue => ({
  kind,
  transient,
  name: truncateText(name, 100),
  detail: truncateText(detail, 300),
});

function attemptsView(attempts: NonNullable<RunOutcome['attempts']>): JsonValue[] {
  return attempts.slice(-MAX_LINES).map(({ peer, status, reason }) => ({
    peer,
    status,
    ...(reason ? { reason: truncateText(reason, 300) } : {}),
  }));
}
