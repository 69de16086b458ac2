import type { Clock, RunOutcome, Unmet } from '@hermes-fleet/protocol';
import type { FleetMetrics } from '@hermes-fleet/service';
import { estimateTokens } from '@hermes-fleet/tasks';
import type { Course } from './course.ts';

export interface HandBackOptions {
  readonly clock: Clock;
  readonly metrics: Pick<FleetMetrics, 'admission' | 'tokensSaved'>;
}

/**
 * The task goes back to its caller: blocked, with everything that stood in the way, an alert, and a count by reason
 * (design 2, Blocked). `why` is put behind the reasons.
 */
export async function handBack(
  { metrics }: Pick<HandBackOptions, 'metrics'>,
  { task, context, state }: Course,
  unmet: readonly Unmet[],
  why?: string,
): Promise<RunOutcome> {
  const kinds = kindsOf(unmet);
  await context.report({ type: 'alert', data: { reason: 'handed_back', unmet: kinds } });
  metrics.admission('blocked', kinds[0] ?? 'peer');
  // A peer that refused it has counted it already.
  const refused = state.attempts.some(({ status }) => status === 'blocked');
  if (context.budget.spent() === 0 && !refused) metrics.tokensSaved(estimateTokens(task.dispatch));
  return {
    status: 'blocked',
    nextSteps: [],
    blockedReason: [...unmet.map(({ detail }) => detail), ...(why === undefined ? [] : [why])].join('; '),
    artifacts: { filesChanged: [] },
    unmet: [...unmet],
    attempts: [...state.attempts],
  };
}

/** The kinds of what is unmet, each once, in order. */
export function kindsOf(unmet: readonly Unmet[]): string[] {
  return [...new Set(unmet.map(({ kind }) => kind))];
}
