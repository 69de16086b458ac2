import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Ledger, openLedger } from '@hermes-fleet/ledger';
import { systemClock, systemIds } from '@hermes-fleet/protocol';
import { silentLog } from '@hermes-fleet/protocol/testing';

const BRIEF = 'x'.repeat(500);

export const newLedger = (file: string): Ledger =>
  openLedger({ file, profile: 'bench', clock: systemClock, ids: systemIds, log: silentLog });

/** The events of one task, and the transactions that write them. */
export const EVENTS = 4;
const TRANSACTIONS = 2;

/**
 * Writes a task as a gateway with a free slot does: accepted, queued and started in one transaction, then done, unless it is
 * left `working`.
 */
export async function writeTask(ledger: Ledger, until: 'done' | 'working' = 'done'): Promise<void> {
  const id = randomUUID();
  const dispatch = { type: 'TASK_DISPATCH', brief: BRIEF, task: { task_id: id } };
  const message = { messageId: id, role: 'ROLE_USER', parts: [{ data: dispatch }] };
  const task = { id, contextId: id, caller: 'bench', key: id, fingerprint: id, message, dispatch };
  await ledger.accept(task, [
    { event: { type: 'queued', data: { lane: 'own' } }, change: { state: 'queued' } },
    { event: { type: 'started', data: {} }, change: { state: 'working' } },
  ]);
  if (until === 'working') return;
  await ledger.append(id, { type: 'done', data: { status: 'done' } }, { result: { status: 'done' } });
}

/** Ledger transactions per second, with `parallel` tasks at once. */
export async function ledgerRate(dir: string, parallel: number, forMs: number): Promise<number> {
  const file = join(dir, `ledger-${randomUUID()}.db`);
  const ledger = newLedger(file);
  const startedAt = performance.now();
  let tasks = 0;
  const worker = async (): Promise<void> => {
    while (performance.now() - startedAt < forMs) {
      await writeTask(ledger);
      tasks += 1;
    }
  };
  await Promise.all(Array.from({ length: parallel }, worker));
  const rate = (tasks * TRANSACTIONS) / ((performance.now() - startedAt) / 1000);
  await ledger.close();
  removeDatabase(file);
  return rate;
}

/** Transactions per second of SQLite alone on this disk: one durable insert of a row of the same size each. */
export function rawRate(dir: string, forMs: number): number {
  const file = join(dir, `raw-${randomUUID()}.db`);
  const db = new DatabaseSync(file);
  db.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (id TEXT PRIMARY KEY, data TEXT)',
  );
  const insert = db.prepare('INSERT INTO t VALUES (?, ?)');
  const startedAt = performance.now();
  let count = 0;
  while (performance.now() - startedAt < forMs) {
    insert.run(randomUUID(), BRIEF);
    count += 1;
  }
  const rate = count / ((performance.now() - startedAt) / 1000);
  db.close();
  removeDatabase(file);
  return rate;
}

/** Removes a database with the files beside it. */
export function removeDatabase(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
}
