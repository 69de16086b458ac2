import { type Clock, FleetError, type RunOutcome, type Unmet } from '@hermes-fleet/protocol';
import { returnBlocked, unmetKinds } from './blocked-outcome.ts';
import type { PeerSelection } from './peer-selection.ts';
import type { RelayedRun } from './relayed-run.ts';
import { trackWait } from './tracked-wait.ts';
import type { WaitQueue } from './wait-queue.ts';

export interface WaitForPeerOptions {
  readonly waitQueue: WaitQueue;
  readonly clock: Clock;
  /** How long a task without a deadline waits while no peer could take it, ms. A longer wait raises an alert. */
  readonly maxWaitMs: number;
}

export interface Wait {
  readonly unmet: readonly Unmet[];
  /** The task waits for a free slot only. */
  readonly queued: boolean;
  /** This process has already reported that the task waits. */
  readonly reported: boolean;
  /** Check in the next round. False after a refusal: the task then waits for that peer to change. */
  readonly checkNow: boolean;
}

/**
 * Keeps a task waiting, without its slot, until a peer may accept it (docs/handshake.md#waiting). Returns a blocked
 * outcome if the task may not wait, or if no peer could take it for too long. The time in which a peer could take it but
 * for a free slot is not limited, and a restart does not reset the rest. Throws DEADLINE_EXCEEDED at the deadline, and the
 * reasons of the run's signals.
 */
export async function waitForPeer(
  options: WaitForPeerOptions,
  run: RelayedRun,
  selection: PeerSelection,
  { unmet, queued, reported, checkNow }: Wait,
): Promise<RunOutcome | undefined> {
  const { waitQueue, clock } = options;
  const { task, context } = run;
  const before = run.state.waiting;
  const now = clock.now();
  const start = { since: now, alerted: false, unplaceableMs: 0 };
  using place = waitQueue.enter(before?.since ?? start.since, before !== undefined);
  const seenChanges = waitQueue.changes;
  if (!place) return returnBlocked(run, [queueFull(waitQueue.size), ...unmet]);
  const wait = trackWait(options, run, before ?? { ...start, queued });
  wait.observe(queued);
  await wait.saved();
  const lateAt = wait.current().since + options.maxWaitMs;
  const kinds = unmetKinds(unmet);
  if (!reported) {
    const until = wait.endsAt();
    const data = {
      waiting: true,
      reason: kinds[0] ?? 'peer',
      unmet: kinds,
      ...(Number.isFinite(until) ? { until: new Date(until).toISOString() } : {}),
    };
    await context.report({ type: 'queued', data });
  }
  const signal = AbortSignal.any([context.signal, context.stopping]);
  const waitUntil = (until: () => number) =>
    waitQueue.wait({
      caller: task.caller.name,
      priority: task.dispatch.task.priority ?? 'normal',
      // A task that a peer turned away keeps its position among those that wait.
      since: Math.min(run.startedAt, wait.current().since),
      until,
      signal,
      checkNow: checkNow || waitQueue.changes !== seenChanges,
      check() {
        const decision = selection.route(true);
        const isPlaced = decision.chosen !== undefined;
        const goesOn = isPlaced || !selection.mayWait(decision);
        wait.observe(isPlaced || selection.isQueued);
        return goesOn;
      },
      waitsForCapacityOf: (peer) => selection.waitsForCapacityOf(peer),
      nextCheckAt: () => selection.nextCheckAt(),
    });
  const timedOut = new FleetError('DEADLINE_EXCEEDED', 'no peer could take the task in time');
  const waitedS = (): number => Math.round((clock.now() - wait.current().since) / 1000);
  try {
    await context.park(async () => {
      if (!wait.current().alerted) {
        if ((await waitUntil(() => Math.min(lateAt, wait.endsAt()))) === 'ready') return;
        if (wait.endsAt() <= clock.now()) throw timedOut;
        const data = { reason: 'waiting_too_long', unmet: kinds, waited_s: waitedS() };
        await context.report({ type: 'alert', data });
        wait.setAlerted();
      }
      // Thrown rather than returned: the task needs no slot to be returned as blocked.
      if ((await waitUntil(wait.endsAt)) === 'over') throw timedOut;
    });
  } catch (error) {
    if (error !== timedOut || task.deadlineAt !== undefined) throw error;
    const latest = selection.unmet(selection.route(false));
    const why = `nobody could take it within the ${Math.round(options.maxWaitMs / 1000)} s that it may wait`;
    return returnBlocked(run, latest.length > 0 ? latest : unmet, why);
  }
  await wait.saved();
  return undefined;
}

function queueFull(size: number): Unmet {
  const detail = `${size} tasks wait for a peer already (fleet.queue.max_waiting)`;
  return { kind: 'capacity', name: 'waiting', detail, transient: true };
}
