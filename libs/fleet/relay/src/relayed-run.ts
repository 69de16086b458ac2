import type { OnBlocked } from '@hermes-fleet/protocol/handshake';
import type { AdmittedTask, Clock, RunContext, RunEvent } from '@hermes-fleet/protocol/ports';
import { decodeRelayState, encodeRelayState, type RelayState } from './relay-state.ts';

export type RelayedRun = ReturnType<typeof createRelayedRun>;

/** The run of a relayed task: its contract, its durable progress, and its context. */
export function createRelayedRun(
  task: AdmittedTask,
  context: RunContext,
  defaults: {
    readonly onBlocked: OnBlocked;
    readonly maxAttempts: number;
    readonly clock: Pick<Clock, 'now'>;
  },
) {
  const { routing } = task.dispatch;
  let state = decodeRelayState(context.checkpoint.load());
  let isNoted = false;
  let told: Promise<void>[] = [];
  const acceptUntils = new Map<string, number>();

  /**
   * Begins a write of the task that nothing has to wait for. It shares the commit of the next `save`, or of the task's end
   * in the same turn. Its failure fails that `save`.
   */
  function tell(write: Promise<void>): void {
    // Reported by the next save; without one, the store fails the end of the task too.
    write.catch(() => undefined);
    told.push(write);
  }

  /**
   * Changes the state, and writes it in this turn of the event loop; writes of one turn share a commit. Durable when it
   * resolves, with everything that was noted and told before. A change that could not be written is taken back, unless
   * another was noted meanwhile: then the next save tries both.
   */
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
    /** Start of this run, ms since the epoch. */
    startedAt: defaults.clock.now(),
    onBlocked: routing?.onBlocked ?? defaults.onBlocked,
    /** How many peers may refuse the task. */
    maxAttempts: routing?.maxAttempts ?? defaults.maxAttempts,
    /** With every change so far, durable or not. */
    get state(): RelayState {
      return state;
    },
    /**
     * The `accept_until` of the next dispatch to a peer, from the time that its clock gives: an announce that was under way for
     * long makes that earlier, and a peer takes a dispatch that is not later for a copy of one that it has refused.
     */
    acceptUntil(peer: string, byItsClock: number): number {
      const until = Math.max(byItsClock, (acceptUntils.get(peer) ?? 0) + 1);
      acceptUntils.set(peer, until);
      return until;
    },
    /** Returns what the function finds in the state after a change, which is not kept. */
    after<T>(change: Partial<RelayState>, judge: () => T): T {
      const before = state;
      state = { ...state, ...change };
      try {
        return judge();
      } finally {
        state = before;
      }
    },
    /**
     * Changes the state without a write of its own: the next `save` or the end of the task makes the change durable. After a
     * crash before that the former state counts.
     */
    note(change: Partial<RelayState>): void {
      state = { ...state, ...change };
      isNoted = true;
    },
    save,
    /** Makes durable what was noted and told. */
    async flush(): Promise<void> {
      if (isNoted) await save({});
      else await Promise.all(told.splice(0));
    },
    tell,
    /** Reports an event as `tell` does. */
    tellEvent: (event: RunEvent): void => tell(context.reportEvent(event)),
  };
}
