import type { Ledger } from '@hermes-fleet/ledger';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { TokenEntry, TokenStore } from '@hermes-fleet/protocol/ports';
import type { TaskSpec } from '../load/workload.ts';

/** A task that the orchestrator has accepted, and that has not ended. */
export interface OpenTask {
  readonly spec: TaskSpec;
  /** Ms since the epoch. */
  readonly receivedAt: number;
  readonly tokens: TokenEntry[];
  checkpoint: JsonObject | undefined;
  /** It holds its context. */
  hasBegun: boolean;
  readonly resumes: number;
}

/** Stands in for the orchestrator's ledger: what it holds survives a crash. */
export interface OrchestratorStore {
  readonly open: Map<string, OpenTask>;
  /** The worker that has a context. */
  readonly homes: Map<string, string>;
  /** Tasks that ended while a worker may still do them. */
  readonly givenUp: Set<string>;
  readonly ledger: Pick<Ledger, 'peers' | 'savePeer' | 'forgetPeer'>;
  accept(spec: TaskSpec, receivedAt: number): OpenTask;
  tokensOf(task: OpenTask): TokenStore;
}

export function createOrchestratorStore(): OrchestratorStore {
  const rows = new Map<string, ReturnType<Ledger['peers']>[number]>();
  const open = new Map<string, OpenTask>();
  return {
    open,
    homes: new Map(),
    givenUp: new Set(),
    ledger: {
      peers: () => [...rows.values()],
      async savePeer(row) {
        rows.set(row.agentId, row);
      },
      async forgetPeer(name) {
        rows.delete(name);
      },
    },
    accept(spec, receivedAt) {
      const task = { spec, receivedAt, tokens: [], checkpoint: undefined, hasBegun: false, resumes: 0 };
      open.set(spec.id, task);
      return task;
    },
    tokensOf: ({ tokens }) => ({
      entries: () => [...tokens],
      reserve: () => Promise.reject(new Error('the relay calls no model')),
      settle: () => Promise.reject(new Error('the relay calls no model')),
      async add(_taskId, entry) {
        tokens.push(entry);
      },
    }),
  };
}
