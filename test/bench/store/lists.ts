import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Ledger, TaskQuery } from '@hermes-fleet/ledger';
import { newLedger, removeDatabase, writeTask } from './ledger.ts';

const BATCH = 500;
/** So many tasks have not ended and are in one context, in a ledger of any size. */
const UNFINISHED = 100;
const CONTEXT = 'bench';
const WARM_UP = 20;

/** The queries of ListTasks that are measured: a page of the caller's tasks. */
export const QUERIES: Readonly<Record<string, TaskQuery>> = {
  'all states': { caller: 'bench', pageSize: 50 },
  working: { caller: 'bench', states: ['working'], pageSize: 50 },
  'one context': { caller: 'bench', contextId: CONTEXT, pageSize: 50 },
  failed: { caller: 'bench', states: ['failed'], pageSize: 50 },
};

/** A ledger with many tasks, few of which have not ended. */
export interface FilledLedger extends AsyncDisposable {
  /** The time of one page of a query, in ms; the event loop does nothing else meanwhile. */
  page(query: TaskQuery): number;
}

/** Writes `count` tasks into a new ledger, which the caller closes; that removes it. */
export async function fillLedger(dir: string, count: number): Promise<FilledLedger> {
  const file = join(dir, `lists-${randomUUID()}.db`);
  const ledger = newLedger(file);
  const every = Math.ceil(count / UNFINISHED);
  for (let written = 0; written < count; written += BATCH) {
    const size = Math.min(BATCH, count - written);
    await Promise.all(Array.from({ length: size }, (_, at) => fill(ledger, (written + at) % every === 0)));
  }
  for (const query of Object.values(QUERIES)) for (let run = 0; run < WARM_UP; run += 1) ledger.list(query);
  return {
    page(query) {
      const startedAt = performance.now();
      ledger.list(query);
      return performance.now() - startedAt;
    },
    async [Symbol.asyncDispose]() {
      await ledger.close();
      removeDatabase(file);
    },
  };
}

const fill = (ledger: Ledger, isUnfinished: boolean): Promise<void> =>
  writeTask(ledger, isUnfinished ? { until: 'working', contextId: CONTEXT } : {});
