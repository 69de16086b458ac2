import { FleetError } from '@hermes-fleet/protocol';
import type { Unmet } from '@hermes-fleet/protocol/handshake';
import type { Clock, RunOutcome } from '@hermes-fleet/protocol/ports';
import { blockedOutcome, errorOutcome } from '@hermes-fleet/tasks';
import { attemptRecord, unmetKinds, withAttempt } from './attempt-history.ts';
import type { PeerSelection } from './peer-selection.ts';
import type { RelayedRun } from './relayed-run.ts';

/**
 * Returns the task to its caller as blocked: lists every unmet requirement and reports an alert
 * (docs/handshake.md#refusals). `why` is appended to the reasons. The alert is durable with the end of the task.
 */
export function returnBlocked(run: RelayedRun, unmet: readonly Unmet[], why?: string): RunOutcome {
  const kinds = unmetKinds(unmet);
  run.tellEvent({ type: 'alert', data: { reason: 'handed_back', unmet: kinds } });
  return { ...blockedOutcome(unmet, why), attempts: [...run.state.attempts] };
}

/**
 * Returns the outcome of a task after a cancel or an expired deadline, with the attempts so far: blocked if the deadline
 * passed before a peer had the task, else an error. Rethrows any other abort reason, such as a shutdown.
 */
export async function outcomeOfAbort(
  clock: Clock,
  run: RelayedRun,
  selection: Pick<PeerSelection, 'route' | 'unmet'>,
  reason: unknown,
): Promise<RunOutcome> {
  if (!(reason instanceof FleetError)) throw reason;
  if (reason.code !== 'CANCELED' && reason.code !== 'DEADLINE_EXCEEDED') throw reason;
  const { attempts, current } = run.state;
  if (reason.code === 'DEADLINE_EXCEEDED' && !current) {
    const { deadline = '' } = run.task.dispatch;
    const detail = `the deadline ${deadline} passed while the task waited for a peer that can take it`;
    const passed = { kind: 'deadline' as const, name: deadline, detail, transient: false };
    return returnBlocked(run, [passed, ...selection.unmet(selection.route(clock.now(), false))]);
  }
  const outcome = errorOutcome(reason.code, reason.message, false);
  if (!current) return { ...outcome, attempts: [...attempts] };
  const last = attemptRecord(current, { kind: 'failed', outcome }, undefined, clock.now());
  return { ...outcome, attempts: withAttempt(attempts, last) };
}
