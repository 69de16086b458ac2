import type { FollowingEvent, Ledger, TaskEvent } from '@hermes-fleet/ledger';
import type { Count } from '@hermes-fleet/protocol/ports';
import { type Decision, decisionCounts, isSentOn, type Lineage } from './count-decision.ts';
import { type Cost, endingData } from './ending-data.ts';
import type { Persist } from './persist.ts';
import { type Ending, encodeEnding } from './task-result.ts';

export interface EndingOptions {
  readonly ledger: Pick<Ledger, 'append'>;
  /** Supported handshake versions. */
  readonly versions: readonly string[];
  /** Aborts when the end is not tried any more. */
  readonly signal: AbortSignal;
}

/** A task that ends, for its terminal event and its counts. */
export interface EndedTask extends Pick<Cost, 'usage' | 'tier' | 'limit'> {
  readonly id: string;
  /** The version of its dispatch. */
  readonly version: string;
  readonly lineage: Lineage;
  /** Undefined for a task that was canceled or failed before anybody began it. */
  readonly decision: Decision | undefined;
}

/** The terminal event of a task, with its result and its counts: a crash loses none of them alone. */
export function endingEvent(
  { version, lineage, decision, ...cost }: Omit<EndedTask, 'id'>,
  ending: Ending,
  versions: readonly string[],
): Required<FollowingEvent> {
  const counts: Count[] = [{ counter: 'tasks', labels: [cost.tier, ending.event], by: 1 }];
  if (decision) counts.push(...decisionCounts(lineage, decision));
  const result = encodeEnding(ending, version, versions);
  const saved = decision?.kind === 'blocked' && !isSentOn(lineage) ? decision.saved : 0;
  const data = endingData(ending, { ...cost, saved });
  return { event: { type: ending.event, data }, change: { result, counts } };
}

/**
 * Writes the ending of a task in one transaction, with the retries of `persist`. That of a run keeps the order of its
 * writes, and the ending shares the commit of those of the same turn. Undefined if the task had ended before.
 */
export function writeEnding(
  { ledger, versions, signal }: EndingOptions,
  task: EndedTask,
  ending: Ending,
  persist: Persist,
): Promise<TaskEvent | undefined> {
  const { event, change } = endingEvent(task, ending, versions);
  return persist(() => ledger.append(task.id, event, change), signal);
}
