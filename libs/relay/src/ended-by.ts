import { FleetError, type RunOutcome } from '@hermes-fleet/protocol';
import { errorOutcome } from '@hermes-fleet/tasks';
import { attemptOf, withAttempt } from './attempts.ts';
import type { Choice } from './choice.ts';
import type { Course } from './course.ts';
import { type HandBackOptions, handBack } from './hand-back.ts';

/**
 * What a task comes to that its caller or its deadline ended, with the attempts so far: blocked where the deadline passed
 * while no peer had it, else an error (design 2, Admission). Throws any other reason again, that of a stop too.
 */
export async function endedBy(
  o: HandBackOptions,
  course: Course,
  choice: Pick<Choice, 'decide' | 'missing'>,
  reason: unknown,
): Promise<RunOutcome> {
  if (!(reason instanceof FleetError)) throw reason;
  if (reason.code !== 'CANCELED' && reason.code !== 'DEADLINE_EXCEEDED') throw reason;
  const { attempts, current } = course.state;
  if (reason.code === 'DEADLINE_EXCEEDED' && !current) {
    const { deadline = '' } = course.task.dispatch;
    const detail = `the deadline ${deadline} passed while the task waited for a peer that can take it`;
    const passed = { kind: 'deadline' as const, name: deadline, detail, transient: false };
    return handBack(o, course, [passed, ...choice.missing(choice.decide(false))]);
  }
  const outcome = errorOutcome(reason.code, reason.message, false);
  if (!current) return { ...outcome, attempts: [...attempts] };
  const tried = attemptOf(current, { kind: 'failed', outcome }, undefined, o.clock.now());
  return { ...outcome, attempts: withAttempt(attempts, tried) };
}
