import { DatabaseSync } from 'node:sqlite';
import { TERMINAL_EVENTS } from '@hermes-fleet/protocol';

export interface LoggedEvent {
  readonly seq: number;
  readonly taskId: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The events in a profile's ledger file, read while its owner runs: the bus must finally have all of them. */
export function readLedgerFile(file: string): { id: string; events: LoggedEvent[]; unfinished: number } {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    db.exec('PRAGMA busy_timeout = 5000');
    const events = db
      .prepare(
        "SELECT e.seq, t.id AS task_id, e.type, e.data FROM events e JOIN tasks t ON t.n = e.task WHERE e.type <> 'text' ORDER BY e.seq",
      )
      .all();
    const unfinished = db.prepare('SELECT count(*) AS count FROM unfinished').get();
    const id =
      db.prepare("SELECT value FROM meta WHERE key = 'ledger_id'").get() ??
      db.prepare('SELECT value FROM meta').get();
    return {
      id: String(id?.value),
      events: events.map((row) => ({
        seq: Number(row.seq),
        taskId: String(row.task_id),
        type: String(row.type),
        data: JSON.parse(String(row.data)),
      })),
      unfinished: Number(unfinished?.count),
    };
  } finally {
    db.close();
  }
}

export const STATUSES = [...TERMINAL_EVENTS];

/** What a ledger accounts for. */
export interface Account {
  /** Tokens of the profile's own calls, and whether all of them are settled. */
  readonly own: number;
  readonly input: number;
  readonly output: number;
  readonly settled: boolean;
  /** The number of its tasks by their terminal events. */
  readonly ended: Readonly<Record<string, number>>;
  readonly unfinished: number;
}

/** The tokens and the terminal events in a profile's ledger file. */
export function readAccount(file: string): Account {
  const { events, unfinished } = readLedgerFile(file);
  using db = new DatabaseSync(file, { readOnly: true });
  const sums = db
    .prepare(
      `SELECT coalesce(sum(input_tokens), 0) AS input, coalesce(sum(output_tokens), 0) AS output,
         coalesce(min(settled), 1) AS settled FROM tokens WHERE kind = 'own'`,
    )
    .get();
  const [input, output] = [Number(sums?.input), Number(sums?.output)];
  const ended = Object.fromEntries(
    STATUSES.map((status) => [status, events.filter(({ type }) => type === status).length]),
  );
  return { own: input + output, input, output, settled: Number(sums?.settled) > 0, ended, unfinished };
}

const DAY_MS = 86_400_000;

/** Makes the ended tasks and the conversations of a ledger that nobody serves older, by whole days. */
export function makeOlder(file: string, days: number): void {
  const age = days * DAY_MS;
  using db = new DatabaseSync(file);
  db.prepare('UPDATE endings SET updated_at = updated_at - ?').run(age);
  db.prepare('UPDATE ended_counts SET bucket = bucket - ? / width').run(age);
  db.prepare('UPDATE conversations SET ended_at = ended_at - ?').run(age);
}
