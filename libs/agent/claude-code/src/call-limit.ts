import { type ConversationOptions, MAX_CALLS, SURPLUS } from '@hermes-fleet/loop';

/**
 * Counts the calls of each answer of the model: returns the refusal of those after the first MAX_CALLS
 * (docs/agent.md#the-loop). The journal gets one entry of an answer for each tool, however many calls are refused.
 */
export function createCallLimit(
  state: Pick<ConversationOptions['state'], 'step' | 'journal'>,
): (tool: string) => string | undefined {
  let answer = -1;
  let made = 0;
  const refused = new Set<string>();
  return (tool) => {
    if (answer !== state.step) {
      answer = state.step;
      made = 0;
      refused.clear();
    }
    made += 1;
    if (made <= MAX_CALLS) return undefined;
    if (!refused.has(tool) && refused.size < MAX_CALLS) {
      refused.add(tool);
      state.journal.push({ tool, ok: false, detail: SURPLUS, refused: true });
    }
    return SURPLUS;
  };
}
