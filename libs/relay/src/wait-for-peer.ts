import { type Clock, FleetError, type RunOutcome, type Unmet } from '@hermes-fleet/protocol';
import type { FleetMetrics } from '@hermes-fleet/service';
import { returnBlocked, unmetKinds } from './blocked-outcome.ts';
import type { PeerSelection } from './peer-selection.ts';
import type { RelayedRun } from './relayed-run.ts';
import type { WaitQueue } from './wait-queue.ts';

export interface WaitForPeerOptions {
  readonly waitQueue: WaitQueue;
  readonly clock: Clock;
  readonly metrics: FleetMetrics;
  /** How long a task without a deadline waits, ms; a task with a later deadline raises an alert then. */
  readonly maxWaitMs: number;
}

export interface Wait {
  readonly unmet: readonly Unmet[];
  /** This process has already reported that the task waits. */
  readonly reported: boolean;
  /** Check in the next round. False after a refusal: the task then waits for that peer to change. */
  readonly checkNow: boolean;
}

/**
 * Keeps a task waiting, without its slot, until a peer may accept it (docs/handshake.md#waiting). Returns a blocked
 * outcome if the task may not wait or has waited too long. A restart does not reset the time. Throws DEADLINE_EXCEEDED at
 * the deadline, and the reasons of the run's signals.
 */
export async function waitForPeer(
  options: WaitForPeerOptions,
  run: RelayedRun,
  selection: PeerSelection,
  { unmet, reported, checkNow }: Wait,
): Promise<RunOutcome | undefined> {
  const { waitQueue, clock } = options;
  const { task, context } = run;
  const before = run.state.waiting;
  const waiting = before ?? { since: clock.now(), alerted: false };
  using place = waitQueue.enter(waiting.since, before !== undefined);
  const seenChanges = waitQueue.changes;
  if (!place) return returnBlocked(options, run, [queueFull(waitQueue.size), ...unmet]);
  if (!before) await run.save({ waiting });
  const lateAt = waiting.since + options.maxWaitMs;
  const until = task.deadlineAt ?? lateAt;
  const kinds = unmetKinds(unmet);
  const waitedSeconds = (): number => Math.round((clock.now() - waiting.since) / 1000);
  if (!reported) {
    const data = {
      waiting: true,
      reason: kinds[0] ?? 'peer',
      unmet: kinds,
      until: new Date(until).toISOString(),
    };
    await context.report({ type: 'queued', data });
  }
  const signal = AbortSignal.any([context.signal, context.stopping]);
  const waitUntil = (end: number) =>
    waitQueue.wait({
      priority: task.dispatch.task.priority ?? 'normal',
      since: waiting.since,
      until: end,
      signal,
      checkNow: checkNow || waitQueue.changes !== seenChanges,
      check() {
        const decision = selection.route(true);
        return decision.chosen !== undefined || !selection.mayWait(decision);
      },
      waitsForCapacityOf: (peer) => selection.waitsForCapacityOf(peer),
      nextCheckAt: () => selection.nextCheckAt(),
    });
  const timedOut = new FleetError('DEADLINE_EXCEEDED', 'no peer could take the task in time');
  try {
    await context.park(async () => {
      if (until > lateAt && !waiting.alerted) {
        if ((await waitUntil(lateAt)) === 'ready') return;
        const data = { reason: 'waiting_too_long', unmet: kinds, waited_s: waitedSeconds() };
        await context.report({ type: 'alert', data });
        await run.save({ waiting: { ...waiting, alerted: true } });
      }
      // Thrown rather than returned: the task needs no slot to be returned as blocked.
      if ((await waitUntil(until)) === 'over') throw timedOut;
    });
    return undefined;
  } catch (error) {
    if (error !== timedOut || task.deadlineAt !== undefined) throw error;
  }
  const latest = selection.unmet(selection.route(false));
  const why = `nobody could take it within the ${waitedSeconds()} s that it may wait`;
  return returnBlocked(options, run, latest.length > 0 ? latest : unmet, why);
}

function queueFull(size: number): Unmet {
  const detail = `${size} tasks wait for a peer already (fleet.queue.max_waiting)`;
  return { kind: 'capacity', name: 'waiting', detail, transient: true };
}
