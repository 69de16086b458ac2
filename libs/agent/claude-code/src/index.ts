import { type ExecutorProvider, probedModel } from '@hermes-fleet/loop';
import { BASE_TOKENS, createClaudeConversation } from './claude-conversation.ts';
import { createClaudeCode } from './create-claude-code.ts';
import { nameInClaude } from './native-tools.ts';
import { findClaudeSdk } from './sdk.ts';

/** Claude Code as an executor: docs/claude-code.md. */
export const claudeCode: ExecutorProvider = {
  ignores: { effort: 'only the loop passes it on, and only to a model that is called' },
  refuses: {
    fallback_models: 'claude-code calls one model: remove them, or use executor: loop',
    'tools.shell.network': 'claude-code runs as a command and needs the network: use full, or executor: loop',
  },
  // Its proxy calls base_url, or the provider's own address.
  probedModel: (config, env) =>
    probedModel(config, { read: (name) => (name === 'ANTHROPIC_BASE_URL' ? undefined : env.read(name)) }),
  readableDirectories: async (env) => [(await findClaudeSdk(env)).readable],
  async createLead(config, runtime) {
    const claude = await createClaudeCode(config, runtime);
    return {
      converse: createClaudeConversation(claude),
      nameOf: nameInClaude,
      // A session of its own is all that it continues.
      goesOn: false,
      // It has one turn for each command.
      hasBackground: false,
      baseTokens: BASE_TOKENS,
      notes: claude.notes,
    };
  },
};
