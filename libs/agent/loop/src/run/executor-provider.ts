import type { Clock, Ids } from '@hermes-fleet/protocol/ports';
import type { Confinement } from '@hermes-fleet/workspace';
import type { AgentConfig } from '../config/config-yaml.ts';
import type { ExecutorRules } from '../config/executor-rules.ts';
import type { ReadableEnv } from '../config/provider-address.ts';
import type { ProbedModel } from '../model/probe/probe-model.ts';
import type { CreateConversation } from './conversation.ts';

/** What the process gives to everything that an agent is made of. */
export interface Runtime {
  readonly env: ReadableEnv;
  readonly clock: Clock;
  readonly ids: Ids;
}

/**
 * A kind of `executor` in config.yaml (docs/agent.md#executors). Nothing else of the fleet knows the kinds apart: what
 * differs between them is a member here or of its lead.
 */
export interface ExecutorProvider extends ExecutorRules {
  /** How its calls of the model can be probed; undefined where there is nothing to ask. */
  probedModel(config: AgentConfig, env: ReadableEnv): ProbedModel | undefined;
  /** Directories that commands must be able to read for it. Throws CONFIG_INVALID when it is not installed. */
  readableDirectories(env: ReadableEnv): Promise<readonly string[]>;
  /** Throws CONFIG_INVALID, with the fix, when it cannot run as configured. */
  createLead(
    config: AgentConfig,
    runtime: Runtime & { readonly confinement: Confinement },
  ): Promise<ConversationLead>;
}

/** How an executor leads the main conversations of its runs. */
export interface ConversationLead {
  readonly converse: CreateConversation;
  /** Maps a tool's name to the name its model calls it by. */
  nameOf(tool: string): string;
  /** True if a further task of a context goes on with the context's conversation (docs/agent.md#going-on). */
  readonly goesOn: boolean;
  /** True if commands may go on beside the model's next steps. */
  readonly hasBackground: boolean;
  /** Tokens it sends in addition to the agent's prompt and the brief. */
  readonly baseTokens: number;
  readonly notes: readonly string[];
}
