import { createHash } from 'node:crypto';
import type { PeerReply, PeerTask } from '@hermes-fleet/a2a';
import { findHandshake } from '@hermes-fleet/prose';
import type { JsonObject, ToolCall } from '@hermes-fleet/protocol';
import type { RemoteAgent } from './directory.ts';
import { messageIdOf } from './memo.ts';

/** What an agent said of its spending, in a TASK_RESULT: a number of tokens, nothing, or nothing that is a number. */
export type Spent = number | 'unsaid' | 'nonsense';

/** More than any task spends; what lies above would make the sums inexact. */
const MAX_TOKENS = 1_000_000_000;

/**
 * Books what an agent spent: each task of its once, however often it is asked for, by whatever tool, and over restarts,
 * since the account itself knows what is booked for it.
 */
export async function bookSpent(
  call: Pick<ToolCall, 'task' | 'key' | 'budget'>,
  { label, endpoint }: Pick<RemoteAgent, 'label' | 'endpoint'>,
  reply: PeerReply,
): Promise<Spent> {
  const spent = spentOf(reply.kind === 'task' ? reply.task : reply);
  if (typeof spent !== 'number') return spent;
  const id = reply.kind === 'task' ? reply.task.id : messageIdOf(call);
  const work = `${label}#${digest(JSON.stringify([endpoint.url, id]))}`;
  const more = Math.min(spent, MAX_TOKENS) - call.budget.delegatedTo(work);
  if (more > 0) await call.budget.addDelegated(more, work);
  return spent;
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32);

/** The last that an agent said of it: a data part, else a TASK_RESULT in its text. */
function spentOf({ data, text }: Pick<PeerTask, 'data' | 'text'>): Spent {
  const result: JsonObject | undefined =
    data.findLast(({ type }) => type === 'TASK_RESULT') ?? findHandshake(text).result;
  const tokens = result?.tokens_spent;
  // Who does not know is asked to say 0 (see closingOf).
  if (tokens === undefined || tokens === 0) return 'unsaid';
  return Number.isSafeInteger(tokens) && typeof tokens === 'number' && tokens > 0 ? tokens : 'nonsense';
}
