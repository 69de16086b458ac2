/*
 * Migrates a ledger of release 0.1.0 with many tasks, and lists them: `node test/bench/migration.ts [tasks]` (1,000,000). It
 * needs about 5 kB of disk for each task, below the folder for temporary files.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openLedger, type TaskQuery } from '@hermes-fleet/ledger';
import { systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { fixture, unpackDatabase } from '../fixtures/pack.ts';

const PER_TRANSACTION = 10_000;
const DAY_MS = 86_400_000;
const DAYS = 30;
const CALLERS = ['switch', 'operator', 'dashboard'] as const;
const STATES = ['completed', 'completed', 'completed', 'failed', 'rejected', 'canceled'] as const;
const EVENTS = { completed: 'done', failed: 'error', rejected: 'blocked', canceled: 'canceled' } as const;
const RUNS = 21;

/** Adds ended tasks with four events each to a ledger of release 0.1.0; their updates are spread over 30 days. */
function addTasks(file: string, tasks: number): void {
  using db = new DatabaseSync(file);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -20000');
  const task = db.prepare('INSERT INTO tasks VALUES (?, ?, ?, ?, NULL, ?, 0, ?, ?, ?)');
  const payload = db.prepare('INSERT INTO payloads VALUES (?, ?, ?, ?)');
  const key = db.prepare('INSERT INTO idempotency VALUES (?, ?, ?, ?)');
  const event = db.prepare('INSERT INTO events (task_id, type, at, data) VALUES (?, ?, ?, ?)');
  const begin = Date.now() - DAYS * DAY_MS;
  for (let i = 0; i < tasks; i += 1) {
    if (i % PER_TRANSACTION === 0) db.exec(i === 0 ? 'BEGIN' : 'COMMIT; BEGIN');
    const [id, contextId, taskId] = [systemIds.uuid(), systemIds.uuid(), systemIds.uuid()];
    const caller = CALLERS[i % CALLERS.length] ?? 'switch';
    const state = STATES[i % STATES.length] ?? 'completed';
    const at = begin + Math.floor((i / tasks) * DAYS * DAY_MS);
    const dispatch = { type: 'TASK_DISPATCH', task: { task_id: taskId }, brief: 'x'.repeat(500) };
    const message = { messageId: taskId, role: 'ROLE_USER', parts: [{ data: dispatch }] };
    const result = JSON.stringify({ type: 'TASK_RESULT', task_id: taskId, status: 'done' });
    task.run(id, contextId, caller, taskId, state, at, at + 2_000, i * 4 + 4);
    payload.run(id, JSON.stringify(message), JSON.stringify(dispatch), result);
    if (state !== 'rejected') key.run(caller, taskId, systemIds.uuid(), id);
    for (const type of ['submitted', 'queued', 'started', EVENTS[state]]) event.run(id, type, at, '{}');
  }
  db.exec(`COMMIT; UPDATE tasks SET ended_seq = (SELECT max(seq) FROM events WHERE task_id = tasks.id)
    WHERE ended_seq IS NOT NULL`);
}

/** The size of a ledger with its write-ahead log, in MB. */
function megabytes(file: string): number {
  const sizes = ['', '-wal'].map(
    (suffix) => statSync(`${file}${suffix}`, { throwIfNoEntry: false })?.size ?? 0,
  );
  return Math.round(sizes.reduce((sum, size) => sum + size, 0) / 1e6);
}

/** Runs `list` often, and prints the median and the maximum of its duration. */
function time(what: string, list: () => unknown): void {
  const durations = Array.from({ length: RUNS }, () => {
    const startedAt = performance.now();
    list();
    return performance.now() - startedAt;
  }).sort((a, b) => a - b);
  const shown = [durations[RUNS >> 1], durations.at(-1)].map((ms) => ms?.toFixed(2));
  console.log(`  ${what.padEnd(44)} median ${shown[0]} ms, maximum ${shown[1]} ms`);
}

const tasks = Number(process.argv[2] ?? 1_000_000);
const dir = mkdtempSync(join(tmpdir(), 'migration-'));
try {
  const file = join(dir, 'ledger.db');
  unpackDatabase(fixture('0.1.0', 'neo.ledger.db.gz'), file);
  addTasks(file, tasks);
  console.log(`a ledger of 0.1.0 with ${tasks} tasks has ${megabytes(file)} MB`);

  const startedAt = performance.now();
  const ledger = openLedger({ file, profile: 'neo', clock: systemClock, ids: systemIds, log: silentLog });
  const seconds = (performance.now() - startedAt) / 1000;
  const { maxRSS } = process.resourceUsage();
  console.log(
    `opened after ${seconds.toFixed(1)} s: ${megabytes(file)} MB, at most ${Math.round(maxRSS / 1000)} MB of memory`,
  );

  const caller = 'switch';
  const updatedAfter = Date.now() - (DAYS / 2) * DAY_MS;
  const queries: Record<string, Omit<TaskQuery, 'pageSize'>> = {
    'all of all callers': {},
    'all of a caller': { caller },
    'failed ones of a caller': { caller, states: ['failed'] },
    'unfinished ones of a caller': { caller, states: ['submitted', 'queued', 'working'] },
    'updated in the last half': { caller, updatedAfter },
    'completed ones of the last half': { caller, states: ['completed'], updatedAfter },
  };
  for (const [what, query] of Object.entries(queries)) {
    const { totalSize } = ledger.list({ ...query, pageSize: 1 });
    time(`${what} (${totalSize}), 50 a page`, () => ledger.list({ ...query, pageSize: 50 }));
    let pageToken = '';
    const deepest = Math.floor(totalSize / 2 / 100);
    for (let page = 0; page < deepest; page += 1)
      ({ nextPageToken: pageToken } = ledger.list({ ...query, pageSize: 100, pageToken }));
    if (pageToken) time('  its middle page', () => ledger.list({ ...query, pageSize: 50, pageToken }));
  }
  await ledger.close();
} finally {
  rmSync(dir, { recursive: true });
}
