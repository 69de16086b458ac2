import { type Clock, FleetError, type OutboxEvent, type OutboxSource } from '@hermes-fleet/protocol';
import { integer, type Queries, type Row, type Store, text, type Wakeups } from '@hermes-fleet/store';
import { taskEvent } from './rows.ts';
import type { TaskEvent } from './types.ts';

const WAKEUP_KEY = 'outbox';

export interface Outbox extends OutboxSource {
  /** Must be called after COMMIT with every appended event. */
  committed(event: TaskEvent): void;
}

export interface OutboxOptions {
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
  let unpublished = store.read((db) => countBetween(db, cursorOf(db), Number.MAX_SAFE_INTEGER));

  const toOutboxEvent = (row: Row): OutboxEvent => {
    const { seq, type, at, data } = taskEvent(row);
    const traceparent = row.traceparent;
    return {
      seq,
      subject: `fleet.task.${profile}.${type}`,
      event: {
        specversion: '1.0',
        id: `${profile}:${store.id}:${seq}`,
        source: `/profiles/${profile}`,
        type: `dev.hermes-fleet.task.${type}.v1`,
        subject: text(row, 'task_id'),
        time: new Date(at).toISOString(),
        datacontenttype: 'application/json',
        ...(typeof traceparent === 'string' ? { traceparent } : {}),
        data: {
          ...data,
          task_id: text(row, 'key'),
          caller: text(row, 'caller'),
          context_id: text(row, 'context_id'),
        },
      },
    };
  };

  return {
    read: (afterSeq, limit) =>
      store.read((db) =>
        db
          .all(
            `SELECT e.seq, e.task_id, e.type, e.at, e.data, t.key, t.caller, t.context_id, t.traceparent
             FROM events e INDEXED BY events_outbox JOIN tasks t ON t.id = e.task_id
             WHERE e.type <> 'text' AND e.seq > ?1
             UNION ALL
             SELECT seq, task_id, type, at, data, key, caller, context_id, traceparent
             FROM erased_events WHERE seq > ?1
             ORDER BY seq LIMIT ?2`,
            afterSeq,
            limit,
          )
          .map(toOutboxEvent),
      ),
    cursor: () => store.read(cursorOf),
    advance: async (seq) => {
      await store.write(
        (db) => advanceTo(db, seq),
        (published) => {
          unpublished -= published;
        },
      );
    },
    wait: async (afterSeq, signal) => {
      for (;;) {
        signal.throwIfAborted();
        if (store.read(newestOf) > afterSeq) return;
        await wakeups.wait(WAKEUP_KEY, signal).woken;
      }
    },
    backlog: () => {
      const oldest = store.read((db) =>
        db.get(
          `SELECT seq, at FROM events INDEXED BY events_outbox WHERE type <> 'text' AND seq > ?1
           UNION ALL SELECT seq, at FROM erased_events WHERE seq > ?1 ORDER BY seq LIMIT 1`,
          cursorOf(db),
        ),
      );
      return {
        count: unpublished,
        oldestAgeMs: oldest ? Math.max(0, clock.now() - integer(oldest, 'at')) : 0,
      };
    },
    committed: (event) => {
      if (event.type === 'text') return;
      unpublished += 1;
      wakeups.wake(WAKEUP_KEY);
    },
  };
}

/** Moves the cursor forward, never backward, and returns the number of newly published events. */
function advanceTo(db: Queries, seq: number): number {
  const cursor = cursorOf(db);
  const newest = Math.max(cursor, newestOf(db));
  if (seq > newest) {
    throw new FleetError('INTERNAL', `the outbox cannot advance to ${seq}: its newest event is ${newest}`);
  }
  if (seq <= cursor) return 0;
  db.run('UPDATE outbox SET cursor = ?', seq);
  const published = countBetween(db, cursor, seq);
  db.run('DELETE FROM erased_events WHERE seq <= ?', seq);
  return published;
}

function cursorOf(db: Queries): number {
  const row = db.get('SELECT cursor FROM outbox');
  return row ? integer(row, 'cursor') : 0;
}

function newestOf(db: Queries): number {
  const row = db.get(
    `SELECT seq FROM events INDEXED BY events_outbox WHERE type <> 'text'
     UNION ALL SELECT seq FROM erased_events ORDER BY seq DESC LIMIT 1`,
  );
  return row ? integer(row, 'seq') : 0;
}

function countBetween(db: Queries, after: number, upTo: number): number {
  const row = db.get(
    `SELECT (SELECT count(*) FROM events INDEXED BY events_outbox WHERE type <> 'text' AND seq > ?1 AND seq <= ?2)
       + (SELECT count(*) FROM erased_events WHERE seq > ?1 AND seq <= ?2) AS total`,
    after,
    upTo,
  );
  return row ? integer(row, 'total') : 0;
}
