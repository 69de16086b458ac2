import type { Budget } from '@hermes-fleet/protocol/ports';
import type {
  ConversationOptions,
  CreateConversation,
  RunResources,
  ToolContext,
} from '../run/conversation.ts';

interface ToolContextOptions extends Pick<ConversationOptions, 'state' | 'tools' | 'save'> {
  readonly budget: Budget;
  /** True for a call that runs at the same time as other delegations. */
  readonly isShare?: boolean | undefined;
  inputTokens(): Promise<number>;
  readonly converse: CreateConversation;
}

/** The context of the call with this key: the run's resources, and a memo in the conversation's checkpoint. */
export function toolContext(key: string, options: ToolContextOptions, resources: RunResources): ToolContext {
  const { state, tools, budget, isShare = false, save, inputTokens, converse } = options;
  return {
    ...resources,
    budget,
    isShare,
    key,
    memo: {
      load: () => state.memos?.[key],
      save: async (value) => {
        state.memos = { ...state.memos, [key]: value };
        await save();
      },
    },
    conversation: {
      tools,
      inputTokens,
      record: (entries) => void state.journal.push(...entries),
    },
    converse: (inner) => converse({ ...inner, key: `${key}/` }, resources),
  };
}
