import { type Clock, FleetError, type RunOutcome, type Unmet } from '@hermes-fleet/protocol';
import type { FleetMetrics } from '@hermes-fleet/service';
import type { Choice } from './choice.ts';
import type { Course } from './course.ts';
import { handBack, kindsOf } from './hand-back.ts';
import type { WaitingRoom } from './waiting-room.ts';

export interface WaitOptions {
  readonly room: WaitingRoom;
  readonly clock: Clock;
  readonly metrics: FleetMetrics;
  /** How long a task without a deadline waits, ms; one with a later deadline raises an alert then. */
  readonly maxWaitMs: number;
}

/** What a wait is about. */
export interface Wait {
  /** What stands in the way. */
  readonly missing: readonly Unmet[];
  /** Whether it was said already, by this process, that the task waits. */
  readonly reported: boolean;
  /** Whether to look in the next round: not when one that is there has just refused and is to be waited for. */
  readonly lookNow: boolean;
}

/**
 * Keeps a task until some peer may take it, without its slot (design 2, Blocked); what it comes to where it may not
 * wait, or has waited long enough. The time runs on over a restart. Throws DEADLINE_EXCEEDED at its deadline, and the
 * signals' reasons.
 */
export async function waitForPeer(
  o: WaitOptions,
  course: Course,
  choice: Choice,
  { missing, reported, lookNow }: Wait,
): Promise<RunOutcome | undefined> {
  const { task, context } = course;
  const before = course.state.waiting;
  const waiting = before ?? { since: o.clock.now(), alerted: false };
  using place = o.room.enter(waiting.since, before !== undefined);
  const seen = o.room.changes;
  if (!place) return handBack(o, course, [roomFull(o.room.size), ...missing]);
  if (!before) await course.save({ waiting });
  const lateAt = waiting.since + o.maxWaitMs;
  const until = task.deadlineAt ?? lateAt;
  const unmet = kindsOf(missing);
  if (!reported) {
    const data = { waiting: true, reason: unmet[0] ?? 'peer', unmet, until: new Date(until).toISOString() };
    await context.report({ type: 'queued', data });
  }
  const signal = AbortSignal.any([context.signal, context.stopping]);
  const stay = (end: number) =>
    o.room.wait({
      priority: task.dispatch.task.priority ?? 'normal',
      since: waiting.since,
      until: end,
      signal,
      lookNow: lookNow || o.room.changes !== seen,
      look() {
        const now = choice.decide(true);
        return now.chosen !== undefined || !choice.mayWait(now);
      },
      waitsFor: (peer) => choice.waitsFor(peer),
      nextLook: () => choice.nextLook(),
    });
  const over = new FleetError('DEADLINE_EXCEEDED', 'no peer could take the task in time');
  try {
    await context.park(async () => {
      if (until > lateAt && !waiting.alerted) {
        if ((await stay(lateAt)) === 'ready') return;
        const data = { reason: 'waiting_too_long', unmet, waited_s: secondsSince(o, waiting.since) };
        await context.report({ type: 'alert', data });
        await course.save({ waiting: { ...waiting, alerted: true } });
      }
      // Thrown, so that it needs no slot for being handed back.
      if ((await stay(until)) === 'over') throw over;
    });
    return undefined;
  } catch (error) {
    if (error !== over || task.deadlineAt !== undefined) throw error;
  }
  const latest = choice.missing(choice.decide(false));
  const why = `nobody could take it within the ${secondsSince(o, waiting.since)} s that it may wait`;
  return handBack(o, course, latest.length > 0 ? latest : missing, why);
}

function roomFull(size: number): Unmet {
  const detail = `${size} tasks wait for a peer already (fleet.queue.max_waiting)`;
  return { kind: 'capacity', name: 'waiting', detail, transient: true };
}

function secondsSince({ clock }: Pick<WaitOptions, 'clock'>, since: number): number {
  return Math.round((clock.now() - since) / 1000);
}
