import type { Unmet } from '@hermes-fleet/protocol/handshake';
import type { Executor, RepoState } from '@hermes-fleet/protocol/ports';
import type { AgentContexts } from './contexts/context-deletions.ts';

/** The agent as the gateway sees it; libs/agent/loop provides it. */
export interface GatewayAgent {
  readonly executor: Executor;
  capabilities(): { readonly tools: readonly string[] };
  repoState(): Promise<RepoState>;
  /** The smallest remaining budget, in tokens, with which a task starts. */
  readonly minimumBudget: number;
  /** Names the resource that the machine is short of for a new task; absent for an agent that needs nothing. */
  shortage?(): Unmet | undefined;
  /** Absent for an agent that keeps no files of a context. */
  readonly contexts?: AgentContexts | undefined;
}
