import type { Budget } from '@hermes-fleet/protocol';
import type {
  ConversationOptions,
  CreateConversation,
  RunResources,
  ToolContext,
} from '../run/conversation.ts';

export interface ToolContextOptions extends Pick<ConversationOptions, 'state' | 'tools' | 'save'> {
  readonly budget: Budget;
  inputTokens(): Promise<number>;
  /** Creates the conversations of sub-agents. */
  readonly converse: CreateConversation;
}

/** The context of the call with this key: the run's resources, and a memo in the conversation's checkpoint. */
export function toolContext(key: string, options: ToolContextOptions, resources: RunResources): ToolContext {
  const { state, tools, budget, save, inputTokens, converse } = options;
  const { task, workspace, files, report, park, ask, signal, stopping } = resources;
  return {
    task,
    workspace,
    files,
    report,
    park,
    ask,
    budget,
    signal,
    stopping,
    key,
    memo: {
      load: () => (state.memo?.key === key ? state.memo.value : undefined),
      save: async (value) => {
        state.memo = { key, value };
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
