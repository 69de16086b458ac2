import type { OnBlocked } from '@hermes-fleet/protocol/handshake';
import type { AdmittedTask, Clock, RunContext, RunEvent } from '@hermes-fleet/protocol/ports';
import { decodeRelayState, encodeRelayState, type RelayState } from './relay-state.ts';

/** The run of a relayed task: its contract, its durable progress, and its context. */
export interface RelayedRun {
  readonly task: AdmittedTask;
  readonly context: RunContext;
  readonly onBlocked: OnBlocked;
  /** How many peers may refuse the task. */
  readonly maxAttempts: number;
  /** Start of this run, ms since the epoch. */
  readonly startedAt: number;
  /** With every change so far, durable or not. */
  readonly state: RelayState;
  /**
   * The `accept_until` of the next dispatch to a peer, from the time that its clock gives: an announce that was under way for
   * long makes that earlier, and a peer takes a dispatch that is not later for a copy of one that it has refused.
   */
  acceptUntil(peer: string, byItsClock: number): number;
  /** Returns what the function finds in the state after a change, which is not kept. */
  after<T>(change: Partial<RelayState>, find: () => T): T;
  /**
   * Changes the state without a write of its own: the next `save` or the end of the task makes the change durable. After a
   * crash before that the former state counts.
   */
  note(change: Partial<RelayState>): void;
  /**
   * Changes the state, and writes it in this turn of the event loop; writes of one turn share a commit. Durable when it
   * resolves, with everything that was noted and told before. A change that could not be written is taken back, unless
   * another was noted meanwhile: then the next save tries both.
   */
  save(change: Partial<RelayState>): Promise<void>;
  /** Makes durable what was noted and told. */
  flush(): Promise<void>;
  /**
   * Begins a write of the task that nothing has to wait for. It shares the commit of the next `save`, or of the task's end
   * in the same turn. Its failure fails that `save`.
   */
  tell(write: Promise<void>): void;
  /** Reports an event as `tell` does. */
  report(event: RunEvent): void;
}

export function createRelayedRun(
  task: AdmittedTask,
  context: RunContext,
  defaults: Pick<RelayedRun, 'onBlocked' | 'maxAttempts'> & { readonly clock: Pick<Clock, 'now'> },
): RelayedRun {
  const { routing } = task.dispatch;
  let state = decodeRelayState(context.checkpoint.load());
  let isNoted = false;
  let told: Promise<void>[] = [];
  const acceptUntils = new Map<string, number>();

  function tell(write: Promise<void>): void {
    // Reported by the next save; without one, the store fails the end of the task too.
    write.catch(() => undefined);
    told.push(write);
  }

  async function save(change: Partial<RelayState>): Promise<void> {
    const [before, wasNoted, pending] = [state, isNoted, told];
    const next = { ...state, ...change };
    state = next;
    isNoted = false;
    told = [];
    const saved = context.checkpoint.save(encodeRelayState(next)).catch((error: unknown) => {
      if (state === next) state = before;
      isNoted ||= wasNoted;
      throw error;
    });
    await Promise.all([saved, ...pending]);
  }

  return {
    task,
    context,
    startedAt: defaults.clock.now(),
    onBlocked: routing?.onBlocked ?? defaults.onBlocked,
    maxAttempts: routing?.maxAttempts ?? defaults.maxAttempts,
    get state() {
      return state;
    },
    acceptUntil(peer, byItsClock) {
      const until = Math.max(byItsClock, (acceptUntils.get(peer) ?? 0) + 1);
      acceptUntils.set(peer, until);
      return until;
    },
    after(change, find) {
      const before = state;
      state = { ...state, ...change };
      try {
        return find();
      } finally {
        state = before;
      }
    },
    note(change) {
      state = { ...state, ...change };
      isNoted = true;
    },
    save,
    async flush() {
      if (isNoted) await save({});
      else await Promise.all(told.splice(0));
    },
    tell,
    report: (event) => tell(context.report(event)),
  };
}
