import type { Unmet } from '@hermes-fleet/protocol/handshake';

/** Thrown when the tree of a task cannot be opened: the task is `blocked`, before a token is spent. */
export class WorkspaceRefused extends Error {
  override readonly name = 'WorkspaceRefused';
  readonly unmet: readonly Unmet[];

  constructor(unmet: readonly Unmet[]) {
    super(unmet.map(({ detail }) => detail).join('; '));
    this.unmet = unmet;
  }
}

/** A task that cannot work with the repository of this name; `mayPass`: waiting may help. */
export const refusedRepository = (name: string, detail: string, mayPass: boolean): WorkspaceRefused =>
  new WorkspaceRefused([{ kind: 'repo', name, detail, transient: mayPass }]);
