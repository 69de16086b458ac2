import type { Ledger, TaskEvent } from '@hermes-fleet/ledger';
import { type Decision, decisionCounts, type Lineage } from './count-decision.ts';
import { type Persist, type PersistOptions, persist } from './persist.ts';
import { type Ending, encodeEnding, endingData } from './task-result.ts';

export interface EndingOptions extends PersistOptions {
  readonly ledger: Pick<Ledger, 'append'>;
  /** Supported handshake versions. */
  readonly versions: readonly string[];
  /** The writes of the task's run: its end is written after them, and in one commit with those of this turn. */
  readonly persistInRun?: Persist;
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

/**
 * Writes the terminal event, the result and the counts of a task in one transaction: a crash loses none of them alone.
 * Undefined if the task had ended before.
 */
export function writeEnding(
  options: EndingOptions,
  task: EndedTask,
  ending: Ending,
): Promise<TaskEvent | undefined> {
  const { id, version, lineage, tier, decision } = task;
  const counts = [
    { counter: 'tasks' as const, labels: [tier, ending.event], by: 1 },
    ...(decision ? decisionCounts(lineage, decision) : []),
  ];
  const result = encodeEnding(ending, version, options.versions);
  const event = { type: ending.event, data: endingData(ending) };
  const write = () => options.ledger.append(id, event, { result, counts });
  return options.persistInRun ? options.persistInRun(write, options.signal) : persist(options, write);
}
