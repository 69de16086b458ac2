import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Ledger, openLedger } from '@hermes-fleet/ledger';
import { systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { type Run, runOf, runSync } from './run.ts';

const BRIEF = 'x'.repeat(500);

export const newLedger = (file: string): Ledger =>
  openLedger({ file, profile: 'bench', clock: systemClock, ids: systemIds, log: silentLog });

/** The events of one task. */
export const EVENTS = 4;

export interface WrittenTask {
  /** A new context without it. */
  readonly contextId?: string;
  /** `done` without it. */
  readonly until?: 'done' | 'working';
}

/**
 * Writes a task as a gateway with a free slot does: accepted, queued and started in one transaction, then done in a
 * second one, unless it is left `working`.
 */
export async function writeTask(ledger: Ledger, { contextId, until }: WrittenTask = {}): Promise<void> {
  const id = randomUUID();
  const dispatch = { type: 'TASK_DISPATCH', brief: BRIEF, task: { task_id: id } };
  const message = { messageId: id, role: 'ROLE_USER', parts: [{ data: dispatch }] };
  const own = { id, contextId: contextId ?? id, caller: 'bench', key: id, fingerprint: id };
  await ledger.accept({ ...own, message, dispatch }, [
    { event: { type: 'queued', data: { lane: 'own' } }, change: { state: 'queued' } },
    { event: { type: 'started', data: {} }, change: { state: 'working' } },
  ]);
  if (until === 'working') return;
  await ledger.append(id, { type: 'done', data: { status: 'done' } }, { result: { status: 'done' } });
}

/** Tasks that are written to a ledger, `parallel` at a time, two transactions each. */
export async function ledgerRun(dir: string, parallel: number, forMs: number): Promise<Run> {
  const file = join(dir, `ledger-${randomUUID()}.db`);
  const ledger = newLedger(file);
  const run = await runOf(parallel, forMs, () => writeTask(ledger));
  await ledger.close();
  removeDatabase(file);
  return run;
}

/** Transactions of SQLite alone on this disk: `each` durable inserts of a row of the same size, one per commit. */
export async function rawRun(dir: string, each: number, forMs: number): Promise<Run> {
  const file = join(dir, `raw-${randomUUID()}.db`);
  const db = new DatabaseSync(file);
  db.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (id TEXT PRIMARY KEY, data TEXT)',
  );
  const insert = db.prepare('INSERT INTO t VALUES (?, ?)');
  const run = await runSync(forMs, () => {
    for (let at = 0; at < each; at += 1) insert.run(randomUUID(), BRIEF);
  });
  db.close();
  removeDatabase(file);
  return run;
}

/** Removes a database with the files beside it. */
export function removeDatabase(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
}
