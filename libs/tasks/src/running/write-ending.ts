import type { FollowingEvent, Ledger, TaskEvent } from '@hermes-fleet/ledger';
import { type Decision, decisionCounts, type Lineage } from './count-decision.ts';
import { type Persist, type PersistOptions, persist } from './persist.ts';
import { type Ending, encodeEnding, endingData } from './task-result.ts';

export interface EndingOptions extends PersistOptions {
  readonly ledger: Pick<Ledger, 'append'>;
  /** Supported handshake versions. */
  readonly versions: readonly string[];
}

/** A task that ends, for its terminal event and its counts. */
export interface EndedTask {
  readonly id: string;
  /** The version of its dispatch. */
  readonly version: string;
  readonly lineage: Lineage;
  /** The tier of the model that ran it, or would have. */
  readonly tier: string;
  /** Undefined for a task that was canceled or failed before anybody began it. */
  readonly decision: Decision | undefined;
}

/** The terminal event of a task, with its result and its counts: a crash loses none of them alone. */
export function endingEvent(
  { version, lineage, tier, decision }: Omit<EndedTask, 'id'>,
  ending: Ending,
  versions: readonly string[],
): Required<FollowingEvent> {
  const counts = [
    { counter: 'tasks' as const, labels: [tier, ending.event], by: 1 },
    ...(decision ? decisionCounts(lineage, decision) : []),
  ];
  const result = encodeEnding(ending, version, versions);
  return { event: { type: ending.event, data: endingData(ending) }, change: { result, counts } };
}

/**
 * Writes the ending of a task in one transaction, after the writes of its run if it has run: `persistInRun` keeps their
 * order, and those of the same turn share its commit. Undefined if the task had ended before.
 */
export function writeEnding(
  options: EndingOptions,
  task: EndedTask,
  ending: Ending,
  persistInRun?: Persist,
): Promise<TaskEvent | undefined> {
  const { event, change } = endingEvent(task, ending, options.versions);
  const write = () => options.ledger.append(task.id, event, change);
  return persistInRun ? persistInRun(write, options.signal()) : persist(options, write);
}
