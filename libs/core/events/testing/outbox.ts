import { DatabaseSync } from 'node:sqlite';
import { CloudEvent, LifecycleEvent } from '@hermes-fleet/protocol';
import type { OutboxEvent, OutboxSource } from '@hermes-fleet/protocol/ports';

export interface TestOutbox extends OutboxSource {
  /** Commits `count` more events and wakes the reader. */
  append(count: number): void;
  /** All ids ever appended, in order. */
  ids(): string[];
  size(): number;
  close(): void;
}

/**
 * An outbox in a SQLite file with the guarantees of the ledger's: only committed events are visible, the cursor survives
 * the process, and moving the cursor back or past the last event is an error.
 */
export function openTestOutbox(options: {
  file: string;
  profile: string;
  ledger?: string;
  /** True for sequence numbers without an event, like text deltas in the ledger. */
  hole?: (seq: number) => boolean;
  bodyBytes?: (seq: number) => number;
}): TestOutbox {
  const db = new DatabaseSync(options.file);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 5000');
  db.exec('CREATE TABLE IF NOT EXISTS events (seq INTEGER PRIMARY KEY, subject TEXT, event TEXT) STRICT');
  db.exec('CREATE TABLE IF NOT EXISTS cursor (seq INTEGER) STRICT');
  if (db.prepare('SELECT seq FROM cursor').get() === undefined) db.exec('INSERT INTO cursor VALUES (0)');
  const insert = db.prepare('INSERT INTO events VALUES (?, ?, ?)');
  const select = db.prepare('SELECT seq, subject, event FROM events WHERE seq > ? ORDER BY seq LIMIT ?');
  const number = (sql: string): number => Number(db.prepare(sql).get()?.n ?? 0);
  const cursor = (): number => number('SELECT seq AS n FROM cursor');
  const newest = (): number => number('SELECT max(seq) AS n FROM events');
  const waiting = new Set<() => void>();
  const names = LifecycleEvent.options;
  const ledger = options.ledger ?? '0197a000-0000-7000-8000-000000000001';

  const append = (count: number): void => {
    let seq = newest();
    db.exec('BEGIN');
    for (let i = 0; i < count; i += 1) {
      do seq += 1;
      while (options.hole?.(seq));
      const name = names[seq % names.length] ?? 'progress';
      const event: CloudEvent = {
        specversion: '1.0',
        id: `${options.profile}:${ledger}:${seq}`,
        source: `/profiles/${options.profile}`,
        type: `dev.hermes-fleet.task.${name}.v1`,
        subject: 'task-1',
        time: new Date().toISOString(),
        datacontenttype: 'application/json',
        data: { seq, padding: 'x'.repeat(options.bodyBytes?.(seq) ?? 0) },
      };
      insert.run(seq, `fleet.task.${options.profile}.${name}`, JSON.stringify(event));
    }
    db.exec('COMMIT');
    for (const wake of waiting) wake();
  };

  return {
    append,
    ids: () =>
      db
        .prepare('SELECT event FROM events ORDER BY seq')
        .all()
        .map((row) => CloudEvent.parse(JSON.parse(String(row.event))).id),
    size: () => number('SELECT count(*) AS n FROM events'),
    close: () => db.close(),
    read: (afterSeq, limit): OutboxEvent[] =>
      select.all(afterSeq, limit).map((row) => ({
        seq: Number(row.seq),
        subject: String(row.subject),
        event: CloudEvent.parse(JSON.parse(String(row.event))),
      })),
    cursor,
    advance: async (seq) => {
      if (seq <= cursor() || seq > newest()) {
        throw new Error(`the cursor may not go from ${cursor()} to ${seq} of ${newest()}`);
      }
      db.prepare('UPDATE cursor SET seq = ?').run(seq);
    },
    wait: (afterSeq, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        if (newest() > afterSeq) return resolve();
        const done = (finish: () => void): void => {
          waiting.delete(wake);
          signal.removeEventListener('abort', abort);
          finish();
        };
        const wake = (): void => {
          if (newest() > afterSeq) done(resolve);
        };
        const abort = (): void => done(() => reject(signal.reason));
        waiting.add(wake);
        signal.addEventListener('abort', abort, { once: true });
      }),
    backlog: () => ({
      count: number('SELECT count(*) AS n FROM events WHERE seq > (SELECT seq FROM cursor)'),
      oldestAgeMs: 0,
    }),
  };
}
