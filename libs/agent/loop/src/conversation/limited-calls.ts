import type { ModelMessage, ToolCallPart } from 'ai';
import { isRefusedChange } from '../guards/evidence.ts';
import { callsIn } from '../messages/history.ts';

/** The calls of one answer that are carried out (docs/agent.md#the-loop). */
export const MAX_CALLS = 64;
/** The calls of one answer that stay in the conversation, each with a result. */
export const MAX_KEPT_CALLS = 2 * MAX_CALLS;

/** Says to a call after the first MAX_CALLS of its answer that it was not run. */
export const SURPLUS = `not run: of the calls of one answer, only the first ${MAX_CALLS} are carried out, and this was a later one. Make it again if it is still needed.`;

/** As SURPLUS; the last call that stays stands for those that did not. `place` counts from 0. */
export const surplusReason = (place: number): string =>
  place < MAX_KEPT_CALLS - 1
    ? SURPLUS
    : `${SURPLUS} Calls of that answer that are missing here were not run either.`;

/**
 * An answer with at most MAX_KEPT_CALLS calls: the first, and in the last place the last one that was to change something,
 * so that the record shows that it was not. A result is kept with its call.
 */
export function limitedCalls(messages: readonly ModelMessage[]): { messages: ModelMessage[]; made: number } {
  const calls = callsIn(messages).filter(isOwnCall);
  if (calls.length <= MAX_KEPT_CALLS) return { messages: [...messages], made: calls.length };
  const later = calls.slice(MAX_KEPT_CALLS - 1);
  const last = later.findLast(({ toolName }) => isRefusedChange(toolName)) ?? later[0];
  const kept = new Set([...calls.slice(0, MAX_KEPT_CALLS - 1), ...(last ? [last] : [])]);
  const ids = [...kept].map(({ toolCallId }) => toolCallId);
  /** Takes the id of a kept call, once for each call with it. */
  function hasCall(id: string): boolean {
    const at = ids.indexOf(id);
    if (at !== -1) ids.splice(at, 1);
    return at !== -1;
  }
  const limited = messages.flatMap((message): ModelMessage[] => {
    if (message.role === 'assistant' && typeof message.content !== 'string') {
      const content = message.content.filter(
        (part) => part.type !== 'tool-call' || !isOwnCall(part) || kept.has(part),
      );
      return [{ ...message, content }];
    }
    if (message.role !== 'tool') return [message];
    const content = message.content.filter((part) => part.type !== 'tool-result' || hasCall(part.toolCallId));
    return content.length === 0 ? [] : [{ ...message, content }];
  });
  return { messages: limited, made: calls.length };
}

const isOwnCall = ({ providerExecuted }: ToolCallPart): boolean => !providerExecuted;
