import { type Clock, FleetError, type RunOutcome, type Unmet } from '@hermes-fleet/protocol';
import type { FleetMetrics } from '@hermes-fleet/service';
import { errorOutcome, estimateTokens } from '@hermes-fleet/tasks';
import { attemptRecord, withAttempt } from './attempt-history.ts';
import type { PeerSelection } from './peer-selection.ts';
import type { RelayedRun } from './relayed-run.ts';

export interface BlockedOutcomeOptions {
  readonly clock: Clock;
  readonly metrics: Pick<FleetMetrics, 'admission' | 'tokensSaved'>;
}

/**
 * Returns the task to its caller as blocked: lists every unmet requirement, reports an alert, and counts the first
 * reason (docs/handshake.md#refusals). `why` is appended to the reasons.
 */
export async function returnBlocked(
  { metrics }: Pick<BlockedOutcomeOptions, 'metrics'>,
  { task, context, state }: RelayedRun,
  unmet: readonly Unmet[],
  why?: string,
): Promise<RunOutcome> {
  const kinds = unmetKinds(unmet);
  await context.report({ type: 'alert', data: { reason: 'handed_back', unmet: kinds } });
  metrics.admission('blocked', kinds[0] ?? 'peer');
  // A peer that refused the task has counted the saved tokens already.
  const isCounted = state.attempts.some(({ status }) => status === 'blocked');
  if (context.budget.spent() === 0 && !isCounted) metrics.tokensSaved(estimateTokens(task.dispatch));
  return {
    status: 'blocked',
    nextSteps: [],
    blockedReason: [...unmet.map(({ detail }) => detail), ...(why === undefined ? [] : [why])].join('; '),
    artifacts: { filesChanged: [] },
    unmet: [...unmet],
    attempts: [...state.attempts],
  };
}

/** The distinct kinds, in order. */
export function unmetKinds(unmet: readonly Unmet[]): string[] {
  return [...new Set(unmet.map(({ kind }) => kind))];
}

/**
 * Returns the outcome of a task after a cancel or an expired deadline, with the attempts so far: blocked if the deadline
 * passed before a peer had the task, else an error. Rethrows any other abort reason, such as a shutdown.
 */
export async function outcomeOfAbort(
  options: BlockedOutcomeOptions,
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
    return returnBlocked(options, run, [passed, ...selection.unmet(selection.route(false))]);
  }
  const outcome = errorOutcome(reason.code, reason.message, false);
  if (!current) return { ...outcome, attempts: [...attempts] };
  const last = attemptRecord(current, { kind: 'failed', outcome }, undefined, options.clock.now());
  return { ...outcome, attempts: withAttempt(attempts, last) };
}
