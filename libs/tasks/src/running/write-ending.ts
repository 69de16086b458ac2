import type { FollowingEvent, Ledger, TaskEvent } from '@hermes-fleet/ledger';
import { type Decision, decisionCounts, type Lineage } from './count-decision.ts';
import { type Persist, type PersistOptions, persist, persistAfter } from './persist.ts';
import { type Ending, encodeEnding, endingData } from './task-result.ts';

export interface EndingOptions extends PersistOptions {
  readonly ledger: Pick<Ledger, 'append'>;
  /** Supported handshake versions. */
  readonly versions: readonly string[];
}

/** The writes before the end of a task. */
export interface EarlierWrites {
  /** The writes of its run: the end is written after them, and shares a commit with those of this turn. */
  readonly persistInRun?: Persist;
  /** A write whose commit the end shares: see `persistAfter`. */
  readonly earlier?: Promise<boolean> | undefined;
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

/** Writes the ending of a task in one transaction. Undefined if the task had ended before. */
export function writeEnding(
  options: EndingOptions,
  task: EndedTask,
  ending: Ending,
  { persistInRun, earlier }: EarlierWrites = {},
): Promise<TaskEvent | undefined> {
  const { event, change } = endingEvent(task, ending, options.versions);
  const write = () => options.ledger.append(task.id, event, change);
  if (earlier) return persistAfter(options, earlier, write);
  return persistInRun ? persistInRun(write, options.signal()) : persist(options, write);
}
