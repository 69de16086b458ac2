import type { PeerReply, PeerTask } from '@hermes-fleet/a2a';
import type { JsonObject, ToolCall } from '@hermes-fleet/protocol';
import { findHandshake } from '../prose/find-handshake.ts';
import type { RemoteAgent } from './directory.ts';
import { loadMemo, messageIdOf, saveMemo } from './memo.ts';

/** What an agent said of its spending, in a TASK_RESULT: a number of tokens, nothing, or nothing that is a number. */
export type Spent = number | 'unsaid' | 'nonsense';

/** More than any task spends; what lies above would make the sums inexact. */
const MAX_TOKENS = 1_000_000_000;
const MAX_REMEMBERED = 10_000;

/** Books what agents spent, each task of theirs once, however often it is asked for. */
export interface Spending {
  book(call: ToolCall, agent: RemoteAgent, reply: PeerReply): Promise<Spent>;
}

export function createSpending(): Spending {
  const booked = new Map<string, number>();

  function remember(key: string, tokens: number): void {
    booked.delete(key);
    booked.set(key, tokens);
    for (const oldest of booked.keys()) {
      if (booked.size <= MAX_REMEMBERED) break;
      booked.delete(oldest);
    }
  }

  return {
    async book(call, agent, reply) {
      const spent = spentOf(reply.kind === 'task' ? reply.task : reply);
      if (typeof spent !== 'number') return spent;
      const id = reply.kind === 'task' ? reply.task.id : messageIdOf(call);
      const key = JSON.stringify([call.task.id, agent.endpoint.url, id]);
      const memo = loadMemo(call);
      const before = Math.max(booked.get(key) ?? 0, memo?.booked ?? 0);
      const tokens = Math.min(spent, MAX_TOKENS);
      if (tokens > before) {
        remember(key, tokens);
        await call.budget.addDelegated(tokens - before);
        if (memo) await saveMemo(call, { ...memo, booked: tokens });
      }
      return spent;
    },
  };
}

/** The last that an agent said of it: a data part, else a TASK_RESULT in its text. */
function spentOf({ data, text }: Pick<PeerTask, 'data' | 'text'>): Spent {
  const result: JsonObject | undefined =
    data.findLast(({ type }) => type === 'TASK_RESULT') ?? findHandshake(text).result;
  const tokens = result?.tokens_spent;
  // Who does not know is asked to say 0 (see closingOf).
  if (tokens === undefined || tokens === 0) return 'unsaid';
  return Number.isSafeInteger(tokens) && typeof tokens === 'number' && tokens > 0 ? tokens : 'nonsense';
}
