import { createLoopConversation } from '../conversation/loop-conversation.ts';
import { probedModel } from '../model/probe/probe-model.ts';
import type { ExecutorProvider } from '../run/executor-provider.ts';

/** The fleet's own loop (docs/agent.md#the-loop), which calls the configured model itself. */
export const loopExecutor: ExecutorProvider = {
  ignores: {},
  refuses: {},
  probedModel,
  readableDirectories: async () => [],
  createLead: async () => ({
    converse: createLoopConversation,
    nameOf: (tool) => tool,
    goesOn: true,
    hasBackground: true,
    baseTokens: 0,
    notes: [],
  }),
};
