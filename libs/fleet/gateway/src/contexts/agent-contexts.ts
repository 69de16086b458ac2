import type { RemovedFiles, ResultsMode } from '@hermes-fleet/ledger';

/** The contexts of an agent on disk. */
export interface AgentContexts {
  /**
   * Removes the files, the processes and the instances of MCP servers of a context. Idempotent.
   */
  remove(contextId: string, options: { readonly results: ResultsMode }): Promise<RemovedFiles>;
}
