import { CloudEvent, FleetError } from '@hermes-fleet/protocol';
import type { Clock, OutboxEvent, OutboxSource } from '@hermes-fleet/protocol/ports';
import { integer, json, openReader, type Queries, type Store, text, type Wakeups } from '@hermes-fleet/store';
import { CONTROL } from './schema.ts';

/** The wake-up key of outbox waits. */
export const OUTBOX_KEY = 'outbox';
/** As long as the stream keeps them (docs/events.md#the-streams). */
const KEPT_MS = 30 * 24 * 60 * 60 * 1000;
const REMOVED_AT_ONCE = 500;

/**
 * The outbox of the control store (docs/events.md#control-events). `advance` moves the cursor through `write` and removes
 * acknowledged events that the stream no longer keeps either; a younger one may be published again (`fleet nats refill`).
 */
export function createOutbox(options: {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly clock: Clock;
  readonly write: (key: string, transaction: (db: Queries) => void) => Promise<void>;
}): OutboxSource {
  const { store, wakeups } = options;
  let wanted = 0;

  return {
    read: (afterSeq, limit) => store.read((db) => readEvents(db, store.id, afterSeq, limit)),
    cursor: () => store.read(cursorOf),
    advance: async (seq) => {
      const newest = store.read(newestOf);
      if (seq > newest)
        throw new FleetError(
          'INTERNAL',
          `the outbox cannot advance to ${seq}: its newest event is ${newest}`,
        );
      if (seq <= store.read(cursorOf)) return;
      wanted = Math.max(wanted, seq);
      const upTo = wanted;
      await options.write(OUTBOX_KEY, (db) => {
        db.run('UPDATE cursor SET seq = max(seq, ?)', upTo);
        removeOld(db, options.clock.now() - KEPT_MS);
      });
    },
    wait: async (afterSeq, signal) => {
      for (;;) {
        signal.throwIfAborted();
        if (store.read(newestOf) > afterSeq) return;
        await wakeups.wait(OUTBOX_KEY, signal).woken;
      }
    },
    backlog: () =>
      store.read((db) => {
        const oldest = db.get('SELECT at FROM outbox WHERE seq > ? ORDER BY seq LIMIT 1', cursorOf(db));
        return {
          count: newestOf(db) - cursorOf(db),
          oldestAgeMs: oldest ? Math.max(0, options.clock.now() - integer(oldest, 'at')) : 0,
        };
      }),
  };
}

/** Opens a control store, which the trader may own, to read its published events. Throws as `openReader` does. */
export function openControlOutbox(file: string): Pick<OutboxSource, 'read' | 'cursor'> & { close(): void } {
  const reader = openReader(file, CONTROL);
  const id = reader.read((db) =>
    text(db.get(`SELECT value FROM meta WHERE key = 'ledger_id'`) ?? {}, 'value'),
  );
  return {
    read: (afterSeq, limit) => reader.read((db) => readEvents(db, id, afterSeq, limit)),
    cursor: () => reader.read(cursorOf),
    close: reader.close,
  };
}

const cursorOf = (db: Queries): number => integer(db.get('SELECT seq FROM cursor') ?? {}, 'seq');

/** The events behind a number, in order. */
const readEvents = (db: Queries, storeId: string, afterSeq: number, limit: number): OutboxEvent[] =>
  db.all('SELECT * FROM outbox WHERE seq > ? ORDER BY seq LIMIT ?', afterSeq, limit).map((row) => {
    const seq = integer(row, 'seq');
    const id = `trader:${storeId}:${seq}`;
    return { seq, subject: text(row, 'subject'), event: CloudEvent.parse({ ...json(row, 'event'), id }) };
  });

/** Removes some of the acknowledged events from before a time: more than come meanwhile, and few enough for one commit. */
function removeOld(db: Queries, before: number): void {
  const last = db
    .all(
      'SELECT seq, at FROM outbox WHERE seq <= (SELECT seq FROM cursor) ORDER BY seq LIMIT ?',
      REMOVED_AT_ONCE,
    )
    .findLast((row) => integer(row, 'at') < before);
  if (last) db.run('DELETE FROM outbox WHERE seq <= ?', integer(last, 'seq'));
}

/** The highest sequence number ever assigned. */
function newestOf(db: Queries): number {
  const row = db.get(`SELECT seq FROM sqlite_sequence WHERE name = 'outbox'`);
  return row ? integer(row, 'seq') : 0;
}
