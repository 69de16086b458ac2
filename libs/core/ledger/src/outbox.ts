import { FleetError } from '@hermes-fleet/protocol';
import type { Clock, OutboxEvent, OutboxSource } from '@hermes-fleet/protocol/ports';
import {
  integer,
  json,
  numberOf,
  openReader,
  type Queries,
  type Row,
  type Store,
  text,
  type Wakeups,
} from '@hermes-fleet/store';
import { taskEvent } from './rows.ts';
import { LEDGER } from './schema.ts';
import type { TaskEvent } from './types.ts';

const WAKEUP_KEY = 'outbox';
/** How many sequences a start counts at most, beside those that were counted before. */
const COUNT_EVERY = 2_000;

export interface Outbox extends OutboxSource {
  /** Must be called after COMMIT with every appended event. */
  committed(event: TaskEvent): void;
}

interface OutboxOptions {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly profile: string;
  readonly clock: Clock;
}

/**
 * The lifecycle events of the ledger as CloudEvents (docs/events.md), without `text` deltas, and the cursor up to which
 * the bus has acknowledged them. The events of erased tasks stay until then.
 */
export function createOutbox({ store, wakeups, profile, clock }: OutboxOptions): Outbox {
  let { unpublished, newest, countedTo } = store.read(countsOf);
  /** The oldest unpublished event, if it is known and the cursor has not passed it. */
  let oldest: Unpublished | undefined;
  let isCounting = false;

  /** Keeps the count at a start short. A count that fails, which the store reports, is repeated with a later event. */
  const keepCount = (): void => {
    if (isCounting || newest - countedTo < COUNT_EVERY) return;
    isCounting = true;
    store
      .write(countUp, (counted) => {
        countedTo = counted;
      })
      .catch(() => undefined)
      .finally(() => {
        isCounting = false;
      });
  };

  /** The oldest unpublished event. It is searched for once, because text deltas without end may be before it. */
  const oldestAfter = (db: Queries, cursor: number): Unpublished | undefined => {
    if (unpublished === 0) return undefined;
    if (oldest === undefined || oldest.seq <= cursor) oldest = findOldest(db, cursor);
    return oldest;
  };

  return {
    read: (afterSeq, limit) =>
      store.read((db) => {
        if (newest <= afterSeq) return [];
        const cursor = cursorOf(db);
        const first = afterSeq < cursor ? undefined : oldestAfter(db, cursor);
        const after = first === undefined ? afterSeq : Math.max(afterSeq, first.seq - 1);
        return readEvents(db, { profile, id: store.id }, after, limit);
      }),
    cursor: () => store.read(cursorOf),
    advance: async (seq) => {
      await store.write(
        (db) => advanceTo(db, seq, newest),
        (published) => {
          unpublished -= published;
        },
      );
    },
    wait: async (afterSeq, signal) => {
      for (;;) {
        signal.throwIfAborted();
        // Throws after `close`.
        if (store.read(() => newest) > afterSeq) return;
        await wakeups.wait(WAKEUP_KEY, signal).woken;
      }
    },
    backlog: () => {
      const first = store.read((db) => oldestAfter(db, cursorOf(db)));
      return { count: unpublished, oldestAgeMs: first ? Math.max(0, clock.now() - first.at) : 0 };
    },
    committed: (event) => {
      if (event.type === 'text') return;
      if (unpublished === 0) oldest = { seq: event.seq, at: event.at };
      unpublished += 1;
      newest = event.seq;
      keepCount();
      wakeups.wake(WAKEUP_KEY);
    },
  };
}

type Unpublished = Pick<TaskEvent, 'seq' | 'at'>;

function findOldest(db: Queries, cursor: number): Unpublished | undefined {
  const row = db.get(
    `SELECT seq, at FROM events NOT INDEXED WHERE type <> 'text' AND seq > ?1
     UNION ALL SELECT seq, at FROM erased_events WHERE seq > ?1 ORDER BY seq LIMIT 1`,
    cursor,
  );
  return row && { seq: integer(row, 'seq'), at: integer(row, 'at') };
}

/** Moves the cursor forward, never backward, and returns the number of newly published events. */
function advanceTo(db: Queries, seq: number, newest: number): number {
  const cursor = cursorOf(db);
  if (seq > newest) {
    throw new FleetError('INTERNAL', `the outbox cannot advance to ${seq}: its newest event is ${newest}`);
  }
  if (seq <= cursor) return 0;
  const published = countBetween(db, cursor, seq);
  db.run(
    `UPDATE outbox SET cursor = ?1, unpublished = iif(counted_to > ?1, unpublished - ?2, 0),
       counted_to = max(counted_to, ?1)`,
    seq,
    published,
  );
  db.run('DELETE FROM erased_events WHERE seq <= ?', seq);
  return published;
}

const cursorOf = (db: Queries): number => numberOf(db, 'SELECT cursor FROM outbox');

/** The number of unpublished events, the sequence of the newest one (at least the cursor), and how far the file counts them. */
function countsOf(db: Queries): { unpublished: number; newest: number; countedTo: number } {
  const row = db.get(
    `SELECT cursor, counted_to, unpublished,
       coalesce((SELECT seq FROM events NOT INDEXED WHERE type <> 'text' ORDER BY seq DESC LIMIT 1), 0) AS newest,
       coalesce((SELECT max(seq) FROM erased_events), 0) AS newest_erased
     FROM outbox`,
  );
  const stored = row ?? {};
  const countedTo = integer(stored, 'counted_to');
  return {
    unpublished: integer(stored, 'unpublished') + countBetween(db, countedTo, Number.MAX_SAFE_INTEGER),
    newest: Math.max(integer(stored, 'cursor'), integer(stored, 'newest'), integer(stored, 'newest_erased')),
    countedTo,
  };
}

/** Adds the events that the file does not count yet, and returns how far it counts. */
function countUp(db: Queries): number {
  const newest = numberOf(db, 'SELECT coalesce(max(seq), 0) FROM events');
  const from = numberOf(db, 'SELECT counted_to FROM outbox');
  if (newest <= from) return from;
  const more = countBetween(db, from, newest);
  db.run('UPDATE outbox SET counted_to = ?, unpublished = unpublished + ?', newest, more);
  return newest;
}

const countBetween = (db: Queries, after: number, upTo: number): number =>
  numberOf(
    db,
    `SELECT (SELECT count(*) FROM events NOT INDEXED WHERE type <> 'text' AND seq > ?1 AND seq <= ?2)
       + (SELECT count(*) FROM erased_events WHERE seq > ?1 AND seq <= ?2)`,
    after,
    upTo,
  );

/** The events behind a number, in order, with those of erased tasks that are not published yet. */
function readEvents(
  db: Queries,
  ledger: { readonly profile: string; readonly id: string },
  afterSeq: number,
  limit: number,
): OutboxEvent[] {
  return db
    .all(
      `SELECT e.seq, t.id AS task_id, e.type, e.at, e.data, t.key, t.caller, t.context_id, t.traceparent,
         l.fields AS lineage
       FROM events e NOT INDEXED CROSS JOIN tasks t ON t.n = e.task LEFT JOIN lineages l ON l.task = e.task
       WHERE e.type <> 'text' AND e.seq > ?1
       UNION ALL
       SELECT seq, task_id, type, at, data, key, caller, context_id, traceparent, lineage
       FROM erased_events WHERE seq > ?1
       ORDER BY seq LIMIT ?2`,
      afterSeq,
      limit,
    )
    .map((row) => toOutboxEvent(row, ledger));
}

function toOutboxEvent(
  row: Row,
  { profile, id }: { readonly profile: string; readonly id: string },
): OutboxEvent {
  const { seq, type, at, data } = taskEvent(row);
  const { traceparent } = row;
  const [key, caller] = [text(row, 'key'), text(row, 'caller')];
  const lineage = row.lineage === null ? {} : json(row, 'lineage');
  return {
    seq,
    subject: `fleet.task.${profile}.${type}`,
    event: {
      specversion: '1.0',
      id: `${profile}:${id}:${seq}`,
      source: `/profiles/${profile}`,
      type: `dev.hermes-fleet.task.${type}.v1`,
      subject: text(row, 'task_id'),
      time: new Date(at).toISOString(),
      datacontenttype: 'application/json',
      ...(typeof traceparent === 'string' ? { traceparent } : {}),
      data: {
        ...data,
        task_id: key,
        caller,
        context_id: text(row, 'context_id'),
        root_id: key,
        root_caller: caller,
        ...lineage,
      },
    },
  };
}

/** The published events of a ledger that another process may own. */
interface OutboxReader extends Pick<OutboxSource, 'read' | 'cursor'> {
  /** The number of ended tasks that the ledger no longer has: their events are not in it. */
  removedTasks(): number;
  close(): void;
}

/** Opens a ledger to read its events; neither creates, migrates nor owns it. Throws as `openReader` does. */
export function openOutbox(file: string, profile: string): OutboxReader {
  const reader = openReader(file, LEDGER);
  const id = reader.read((db) =>
    text(db.get(`SELECT value FROM meta WHERE key = 'ledger_id'`) ?? {}, 'value'),
  );
  return {
    read: (afterSeq, limit) => reader.read((db) => readEvents(db, { profile, id }, afterSeq, limit)),
    cursor: () => reader.read(cursorOf),
    removedTasks: () =>
      reader.read((db) => {
        const ended = numberOf(db, `SELECT coalesce(sum(value), 0) FROM totals WHERE counter = 'tasks'`);
        return Math.max(0, ended - numberOf(db, 'SELECT count(*) FROM endings'));
      }),
    close: reader.close,
  };
}
