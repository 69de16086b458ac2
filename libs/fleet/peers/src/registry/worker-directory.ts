import { setMaxListeners } from 'node:events';
import type { LedgerJoins, WorkerRecord } from '@hermes-fleet/ledger';
import { FleetError } from '@hermes-fleet/protocol';
import type { Caller } from '@hermes-fleet/protocol/ports';

export type WorkerDirectory = ReturnType<typeof createWorkerDirectory>;

interface Member {
  readonly worker: WorkerRecord;
  readonly caller: Caller;
  /** For tasks at the worker, and for its open requests. */
  readonly membership: AbortController;
  readonly requests: AbortController;
}

/** The workers that joined with a join token, in memory as in the ledger (docs/peering.md#joining). */
export function createWorkerDirectory(joins: Pick<LedgerJoins, 'workers'>) {
  const members = new Map<string, Member>();
  const byDigest = new Map<string, Member>();

  /** Adds or replaces a worker, once that is durable. */
  function put(worker: WorkerRecord): void {
    const { membership = lasting(), requests = lasting() } = members.get(worker.name) ?? {};
    const caller = { name: worker.name, scopes: new Set(worker.scopes), ended: requests.signal };
    const member = { worker, caller, membership, requests };
    members.set(worker.name, member);
    byDigest.set(worker.digest, member);
  }

  for (const worker of joins.workers()) put(worker);
  return {
    get: (name: string): WorkerRecord | undefined => members.get(name)?.worker,
    list: (): readonly WorkerRecord[] => [...members.values()].map(({ worker }) => worker),
    /** The worker that presents the token with this hash, 64 hex digits, as a caller. */
    callerOf: (digest: string): Caller | undefined => byDigest.get(digest)?.caller,
    put,
    /** Removes a worker, once that is durable, and ends its membership. `cutOff`: its open requests are cut off too. */
    remove(name: string, reason: string, { cutOff }: { readonly cutOff: boolean }): void {
      const member = members.get(name);
      if (!member) return;
      members.delete(name);
      byDigest.delete(member.worker.digest);
      const ended = new FleetError('PEER_UNREACHABLE', `${reason}: dispatch the task again`);
      member.membership.abort(ended);
      if (cutOff) member.requests.abort(ended);
    },
    membership: (name: string): AbortSignal | undefined => members.get(name)?.membership.signal,
  };
}

/** A signal to which every task and every request of a worker listens. */
function lasting(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}
