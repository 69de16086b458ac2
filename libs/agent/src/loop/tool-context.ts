import type { Budget } from '@hermes-fleet/protocol';
import type { Conversation, ConversationOptions, RunResources, ToolContext } from '../run/conversation.ts';

export interface ToolContextOptions extends Pick<ConversationOptions, 'state' | 'tools' | 'save'> {
  /** What the conversation may spend. */
  readonly budget: Budget;
  inputTokens(): Promise<number>;
  /** Makes a conversation inside this one. */
  readonly converse: (options: ConversationOptions, parts: RunResources) => Conversation;
}

/** What the call with this key works with: the run's own things, and a memo in the conversation's checkpoint. */
export function toolContext(key: string, o: ToolContextOptions, parts: RunResources): ToolContext {
  const { state } = o;
  const { task, workspace, files, report, park, ask, signal, stopping } = parts;
  return {
    task,
    workspace,
    files,
    report,
    park,
    ask,
    budget: o.budget,
    signal,
    stopping,
    key,
    memo: {
      load: () => (state.memo?.key === key ? state.memo.value : undefined),
      save: async (value) => {
        state.memo = { key, value };
        await o.save();
      },
    },
    conversation: {
      tools: o.tools,
      inputTokens: () => o.inputTokens(),
      record: (entries) => void state.journal.push(...entries),
    },
    converse: (options) => o.converse({ ...options, key: `${key}/` }, parts),
  };
}
