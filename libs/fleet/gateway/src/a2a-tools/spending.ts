import { createHash } from 'node:crypto';
import type { PeerReply, PeerTask } from '@hermes-fleet/a2a';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { ToolCall } from '@hermes-fleet/protocol/ports';
import { findHandshake } from '@hermes-fleet/protocol/prose';
import { messageIdOf } from './agent-call.ts';
import type { RemoteAgent } from './directory.ts';

/** The tokens that an agent reports in its TASK_RESULT. */
export type ReportedTokens = number | 'unreported' | 'invalid';

/** Larger figures would make the sums inexact. */
const MAX_TOKENS = 1_000_000_000;

/**
 * Books the tokens that an agent reports, once for each of its tasks: repeated queries, other tools and restarts do not
 * book them again, because the budget itself knows what is booked for a task.
 */
export async function bookReportedTokens(
  call: Pick<ToolCall, 'task' | 'key' | 'budget'>,
  { label, endpoint }: Pick<RemoteAgent, 'label' | 'endpoint'>,
  reply: PeerReply,
): Promise<ReportedTokens> {
  const tokens = reportedTokens(reply.kind === 'task' ? reply.task : reply);
  if (typeof tokens !== 'number') return tokens;
  const id = reply.kind === 'task' ? reply.task.id : messageIdOf(call);
  const work = `${label}#${digest(JSON.stringify([endpoint.url, id]))}`;
  const more = Math.min(tokens, MAX_TOKENS) - call.budget.delegatedTo(work);
  if (more > 0) await call.budget.addDelegated(more, work);
  return tokens;
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32);

/** Reads the last TASK_RESULT among the data parts, or else the one in the text. */
function reportedTokens({ data, text }: Pick<PeerTask, 'data' | 'text'>): ReportedTokens {
  const result: JsonObject | undefined =
    data.findLast(({ type }) => type === 'TASK_RESULT') ?? findHandshake(text).result;
  const tokens = result?.tokens_spent;
  // Agents that do not know their usage are asked to report 0 (closingOf).
  if (tokens === undefined || tokens === 0) return 'unreported';
  return Number.isSafeInteger(tokens) && typeof tokens === 'number' && tokens > 0 ? tokens : 'invalid';
}
