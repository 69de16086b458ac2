import type { RemovedFiles, ResultsMode } from '@hermes-fleet/ledger';

/** The contexts of an agent on disk. */
export interface AgentContexts {
  /**
   * Removes the files, the processes and the instances of MCP servers of a context, and the scratchpads of the root tasks
   * named. Idempotent.
   */
  remove(
    contextId: string,
    options: { readonly results: ResultsMode; readonly rootIds: readonly string[] },
  ): Promise<RemovedFiles>;
}
