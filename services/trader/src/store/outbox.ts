import {
  type Clock,
  CloudEvent,
  FleetError,
  type OutboxEvent,
  type OutboxSource,
} from '@hermes-fleet/protocol';
import { integer, json, type Queries, type Row, type Store, text, type Wakeups } from '@hermes-fleet/store';

/** The wake-up key of outbox waits. */
export const OUTBOX_KEY = 'outbox';

/**
 * The outbox of the control store (docs/events.md#control-events). `advance` moves the cursor through `write` and deletes
 * the acknowledged events.
 */
export function createOutbox(options: {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly clock: Clock;
  readonly write: (key: string, transaction: (db: Queries) => void) => Promise<void>;
}): OutboxSource {
  const { store, wakeups } = options;
  let wanted = 0;

  const toEvent = (row: Row): OutboxEvent => {
    const seq = integer(row, 'seq');
    const id = `trader:${store.id}:${seq}`;
    return { seq, subject: text(row, 'subject'), event: CloudEvent.parse({ ...json(row, 'event'), id }) };
  };

  return {
    read: (afterSeq, limit) =>
      store.read((db) =>
        db.all('SELECT * FROM outbox WHERE seq > ? ORDER BY seq LIMIT ?', afterSeq, limit).map(toEvent),
      ),
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
        db.run('DELETE FROM outbox WHERE seq <= ?', upTo);
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
        const oldest = db.get('SELECT at FROM outbox ORDER BY seq LIMIT 1');
        return {
          count: newestOf(db) - cursorOf(db),
          oldestAgeMs: oldest ? Math.max(0, options.clock.now() - integer(oldest, 'at')) : 0,
        };
      }),
  };
}

const cursorOf = (db: Queries): number => integer(db.get('SELECT seq FROM cursor') ?? {}, 'seq');

/** The highest sequence number ever assigned. */
function newestOf(db: Queries): number {
  const row = db.get(`SELECT seq FROM sqlite_sequence WHERE name = 'outbox'`);
  return row ? integer(row, 'seq') : 0;
}
