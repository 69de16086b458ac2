/*
 * Opens and lists a large ledger, and applies an invented step to it: `node test/bench/migration.ts [tasks]` (100,000). The
 * step writes each row of the largest table anew, and makes an index of it. It needs about 10 kB of disk for each task, below
 * the folder for temporary files.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openLedger, type TaskQuery } from '@hermes-fleet/ledger';
import { systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { openConnections } from '@hermes-fleet/store';
import { LEDGER } from '../../libs/core/ledger/src/schema.ts';

const PER_TRANSACTION = 10_000;
const DAY_MS = 86_400_000;
const DAYS = 30;
const CALLERS = ['switch', 'operator', 'dashboard'] as const;
const STATES = ['completed', 'completed', 'completed', 'failed', 'rejected', 'canceled'] as const;
const STEP = `
  ALTER TABLE tasks ADD COLUMN note TEXT NOT NULL DEFAULT '';
  UPDATE tasks SET note = key || caller;
  CREATE INDEX tasks_noted ON tasks (note);
`;
const EVENTS = { completed: 'done', failed: 'error', rejected: 'blocked', canceled: 'canceled' } as const;
const RUNS = 21;

/** Adds ended tasks with four events each to a ledger; their updates are spread over 30 days. */
function addTasks(file: string, tasks: number): void {
  using db = new DatabaseSync(file);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -20000');
  const task = db.prepare('INSERT INTO tasks VALUES (?, ?, ?, ?, ?, ?, NULL, ?, 0, NULL, ?)');
  const ending = db.prepare('INSERT INTO endings VALUES (?, ?, ?, 0, ?, ?, ?)');
  const event = db.prepare('INSERT INTO events (task, type, at, data) VALUES (?, ?, ?, ?)');
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
    const fingerprint = state === 'rejected' ? null : systemIds.uuid();
    task.run(i + 1, id, contextId, caller, taskId, fingerprint, at, JSON.stringify(message));
    for (const type of ['submitted', 'queued', 'started', EVENTS[state]]) event.run(i + 1, type, at, '{}');
    ending.run(i + 1, caller, state, at + 2_000, i * 4 + 4, result);
  }
  db.exec(`COMMIT; INSERT INTO ended_counts SELECT caller, state, width, updated_at / width AS bucket, count(*)
    FROM endings CROSS JOIN (SELECT 3600000 AS width UNION ALL SELECT 60000) GROUP BY caller, state, width, bucket`);
}

/** The size of a ledger with its write-ahead log, in MB. */
function megabytes(file: string): number {
  const sizes = ['', '-wal'].map(
    (suffix) => statSync(`${file}${suffix}`, { throwIfNoEntry: false })?.size ?? 0,
  );
  return Math.round(sizes.reduce((sum, size) => sum + size, 0) / 1e6);
}

const secondsSince = (startedAt: number): string => ((performance.now() - startedAt) / 1000).toFixed(1);

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

const tasks = Number(process.argv[2] ?? 100_000);
const dir = mkdtempSync(join(tmpdir(), 'migration-'));
process.env.SQLITE_TMPDIR ??= dir;
try {
  const file = join(dir, 'ledger.db');
  const open = () => openLedger({ file, profile: 'neo', clock: systemClock, ids: systemIds, log: silentLog });
  await open().close();
  addTasks(file, tasks);
  const openedAt = performance.now();
  const ledger = open();
  console.log(
    `a ledger with ${tasks} tasks (${megabytes(file)} MB) opened after ${secondsSince(openedAt)} s`,
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

  const startedAt = performance.now();
  const next = { ...LEDGER, migrations: [...LEDGER.migrations, STEP] };
  const { writer } = openConnections(file, next, () => 'id');
  const { maxRSS } = process.resourceUsage();
  console.log(
    `after the step, it opened after ${secondsSince(startedAt)} s: ${megabytes(file)} MB with its log, at most ` +
      `${Math.round(maxRSS / 1000)} MB of memory`,
  );
  writer.close();
} finally {
  rmSync(dir, { recursive: true });
}
