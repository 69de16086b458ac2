import type { Count } from '@hermes-fleet/protocol/ports';
import type { Queries, Store } from '@hermes-fleet/store';
import { COUNT_WIDTHS, type EndedGroup, writeEndedCount } from './ended-counts.ts';

interface Batch {
  readonly totals: Map<string, { readonly counter: string; readonly labels: string; by: number }>;
  readonly ended: Map<string, { readonly group: EndedGroup; width: number; bucket: number; by: number }>;
}

export type Sums = ReturnType<typeof createSums>;

/** The sums that the transactions of a batch add to counters. They are written once per batch. For transactions only. */
export function createSums(store: Pick<Store, 'perBatch'>) {
  const batch = store.perBatch((): Batch => ({ totals: new Map(), ended: new Map() }), write);
  return {
    /** Adds to the totals. */
    count: (counts: readonly Count[]): void => {
      if (counts.length === 0) return;
      const { totals } = batch();
      for (const { counter, labels, by } of counts) {
        const text = JSON.stringify(labels);
        const key = `${counter} ${text}`;
        const sum = totals.get(key);
        if (sum) sum.by += by;
        else totals.set(key, { counter, labels: text, by });
      }
    },
    /** Counts an ended task that was last updated at a time (ms since the epoch), with 1, or its removal, with -1. */
    ended: (group: EndedGroup, updatedAt: number, by: 1 | -1): void => {
      const { ended } = batch();
      for (const width of COUNT_WIDTHS) {
        const bucket = Math.floor(updatedAt / width);
        const key = `${width} ${bucket} ${group.state} ${group.caller}`;
        const sum = ended.get(key);
        if (sum) sum.by += by;
        else ended.set(key, { group, width, bucket, by });
      }
    },
  };
}

function write(db: Queries, { totals, ended }: Batch): void {
  for (const { counter, labels, by } of totals.values())
    db.run(
      `INSERT INTO totals (counter, labels, value) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET value = value + excluded.value`,
      counter,
      labels,
      by,
    );
  for (const { group, width, bucket, by } of ended.values()) writeEndedCount(db, group, width, bucket, by);
}
