import {
  type Reading,
  type TaskDispatch,
  type Unmet,
  unmet as unmetOf,
} from '@hermes-fleet/protocol/handshake';
import type { Caller } from '@hermes-fleet/protocol/ports';
import { estimateTokens } from '../running/count-decision.ts';
import type { TaskQueue } from './task-queue.ts';

/** The task queue and the admission check by which a task is judged. */
export interface Bar {
  readonly queue: Pick<TaskQueue, 'running' | 'waiting' | 'freeSlots' | 'reserve'>;
  /** Returns every unmet requirement; empty = admitted. */
  check(dispatch: TaskDispatch, caller: Caller): Promise<readonly Unmet[]>;
  /** Reserves the tokens of a task until it ends; returns the ceilings that it would exceed. Decides in one turn. */
  reserveTokens(taskId: string, dispatch: TaskDispatch, caller: Caller): Unmet[];
  /** Gives the reserved tokens of a task back that was not stored. */
  releaseTokens(taskId: string): void;
}

/** Where tasks are executed. */
export interface Destination extends Bar {
  readonly queue: TaskQueue;
  /** The largest number of resumes of one task. */
  readonly maxResumes: number;
}

export type Verdict<D extends Bar = Destination> =
  /** The destination holds the tokens of the task, and room in its queue. */
  | { readonly kind: 'admitted'; readonly dispatch: TaskDispatch; readonly destination: D }
  | {
      readonly kind: 'blocked';
      /** The caller's name for the task. */
      readonly name: string;
      readonly unmet: readonly Unmet[];
      /** The tokens that are not spent. */
      readonly saved: number;
    };

/** A task to judge: `key` is the caller's name for it if the dispatch has none. */
export interface Judged {
  readonly id: string;
  readonly key: string;
  readonly reading: Reading;
  readonly caller: Caller;
}

/** Judges a task in memory: nothing is written, and no token is spent (docs/handshake.md#admission). */
export async function judge<D extends Bar>(
  { profile, destinationOf }: { profile: string; destinationOf: (dispatch: TaskDispatch) => D },
  { id, key, reading, caller }: Judged,
): Promise<Verdict<D>> {
  if (reading.kind === 'foreign')
    return { kind: 'blocked', name: reading.taskId ?? key, unmet: reading.unmet, saved: 0 };
  const { dispatch } = reading;
  const destination = destinationOf(dispatch);
  const { queue } = destination;
  let unmet = await destination.check(dispatch, caller);
  if (unmet.length === 0 && dispatch.routing?.whenFull === 'refuse' && queue.freeSlots === 0)
    unmet = slotUnmet(profile, queue);
  if (unmet.length === 0) unmet = destination.reserveTokens(id, dispatch, caller);
  if (unmet.length === 0 && !queue.reserve(caller.name)) {
    destination.releaseTokens(id);
    unmet = queueUnmet(profile, queue.waiting);
  }
  if (unmet.length === 0) return { kind: 'admitted', dispatch, destination };
  return { kind: 'blocked', name: reading.taskId, unmet, saved: estimateTokens(dispatch) };
}

/** The unmet requirement of a task for which the queue of a profile has no room. */
export const queueUnmet = (profile: string, waiting: number): Unmet[] =>
  unmetOf('capacity', 'queue', `the queue of ${profile} is full (${waiting} waiting)`, true);

const slotUnmet = (profile: string, { running, waiting }: Bar['queue']): Unmet[] => {
  const busy = `${profile} has no free slot (${running} running, ${waiting} waiting)`;
  return unmetOf('capacity', 'slots', busy, true);
};
