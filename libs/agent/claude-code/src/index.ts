import type { LeadProvider } from '@hermes-fleet/loop';
import { BASE_TOKENS, createClaudeConversation } from './claude-conversation.ts';
import { createClaudeCode, readableDirectories } from './create-claude-code.ts';
import { nameInClaude } from './native-tools.ts';

/** Claude Code as an executor: docs/claude-code.md. */
export const claudeCode: LeadProvider = {
  readableDirectories,
  async createLead(config, options) {
    const claude = await createClaudeCode(config, options);
    return {
      converse: createClaudeConversation(claude),
      nameOf: nameInClaude,
      baseTokens: BASE_TOKENS,
      notes: claude.notes,
    };
  },
};
