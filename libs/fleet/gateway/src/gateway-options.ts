import type { A2AClient } from '@hermes-fleet/a2a';
import type { FleetConfig } from '@hermes-fleet/fleet-config';
import type { Ledger } from '@hermes-fleet/ledger';
import type { McpPool } from '@hermes-fleet/mcp';
import type { Announcer, PeerRegistry } from '@hermes-fleet/peers';
import type { RepositoriesAnswer } from '@hermes-fleet/protocol/api';
import type { Unmet } from '@hermes-fleet/protocol/handshake';
import type {
  Clock,
  Executor,
  Ids,
  Log,
  ModelWatch,
  RepoState,
  RepositoryBundles,
  TaskResults,
  Tracing,
} from '@hermes-fleet/protocol/ports';
import type { FleetMetrics } from '@hermes-fleet/service';
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
  /** The checkouts that callers sent; absent for an agent that keeps none. */
  readonly bundles?: RepositoryBundles | undefined;
  /** The repositories that are configured; absent for none. */
  readonly repositories?: RepositoriesAnswer['repositories'] | undefined;
  /** Absent for an agent whose files cannot be read. */
  readonly results?: TaskResults | undefined;
}

export interface GatewayOptions {
  readonly profile: string;
  readonly version: string;
  readonly ledger: Ledger;
  readonly agent: GatewayAgent;
  readonly mcp: Pick<McpPool, 'names' | 'health' | 'probe' | 'onChange'>;
  /** The measured health of the agent's model; absent for a member without a model. */
  readonly model?: ModelWatch | undefined;
  readonly peers: PeerRegistry;
  readonly announcer: Pick<Announcer, 'changed' | 'loadChanged'>;
  readonly client: A2AClient;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly metrics: FleetMetrics;
  readonly tracing?: Tracing | undefined;
  readonly config: FleetConfig;
  /** The budget, in tokens, of tasks without one; absent for no limit. */
  readonly defaultBudget?: number | undefined;
  /** Cache reads and writes count as spent (`budget.count_cache`). */
  readonly countCache?: boolean;
  /** 0 to 1, for backoff; Math.random when absent. */
  readonly random?: () => number;
  /** The supported handshake versions, best first; all versions of this build when absent. */
  readonly versions?: readonly string[];
}
