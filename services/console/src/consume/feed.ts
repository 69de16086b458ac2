import type { BusConnection, StreamFacts } from '@hermes-fleet/events';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import type { Store } from '@hermes-fleet/store';
import type { Applied } from '../read-model/apply.ts';
import { noteFact, oldestEventAt } from '../read-model/facts.ts';
import { PROJECTED } from '../read-model/schema.ts';
import { createProjector } from './projector.ts';
import { type Arrival, type BusView, startReaders, type Topic } from './readers.ts';

export interface FeedOptions {
  readonly connection: BusConnection;
  readonly store: Pick<Store, 'read' | 'write'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after COMMIT. */
  readonly onApplied: (applied: readonly Applied[], arrivals: readonly Arrival[], skipped: number) => void;
  readonly onState: () => void;
  readonly onRebuilt: () => void;
}

/** What a rebuild has found. Times are ms since the epoch. */
export interface Rebuilt {
  readonly rebuiltAt: number;
  /** The oldest task event on the bus; null if there is none, or the bus did not answer in time. */
  readonly reachesBackTo: number | null;
}

export interface Feed {
  view(): BusView;
  /**
   * Empties the read model and reads the streams from their start. A second call joins the first. Throws STORE_UNAVAILABLE
   * while the bus is away, because the views would be empty until it is back.
   */
  rebuild(): Promise<Rebuilt>;
  close(): Promise<void>;
}

const FIRST_EVENT_MS = 5_000;

/** Keeps the read model up to date with the bus. */
export function startFeed(options: FeedOptions): Feed {
  const { store, clock, log } = options;
  let firstEvent: PromiseWithResolvers<void> | undefined;
  let rebuilding: Promise<Rebuilt> | undefined;
  let isClosed = false;

  const open = () => {
    const projector = createProjector({
      ...options,
      onApplied: (applied, arrivals, skipped) => {
        options.onApplied(applied, arrivals, skipped);
        if (applied.some(({ view }) => view === 'tasks')) firstEvent?.resolve();
      },
    });
    const readers = startReaders({
      ...options,
      push: projector.push,
      onStream: (topic, stream) => {
        noteGap(store, clock, topic, stream);
        if (topic === 'tasks' && stream.lastSeq === 0) firstEvent?.resolve();
      },
    });
    return { projector, readers };
  };
  let current = open();

  const close = async (): Promise<void> => {
    await current.readers.close();
    await current.projector.close();
  };

  const rebuild = async (): Promise<Rebuilt> => {
    const { isAway, reason } = current.readers.view();
    if (isAway)
      throw new FleetError(
        'STORE_UNAVAILABLE',
        `the streams cannot be read, so the read model stays as it is: ${reason}`,
      );
    await close();
    const rebuiltAt = clock.now();
    await store.write((db) => {
      for (const table of PROJECTED) db.run(`DELETE FROM ${table}`);
      noteFact(db, 'rebuilt_at', rebuiltAt);
    });
    firstEvent = Promise.withResolvers();
    if (!isClosed) current = open();
    options.onRebuilt();
    log.info({}, 'the read model is rebuilt from the streams');
    using _ = clock.timer(() => firstEvent?.resolve(), FIRST_EVENT_MS);
    await firstEvent.promise;
    return { rebuiltAt, reachesBackTo: store.read(oldestEventAt) };
  };

  return {
    view: () => current.readers.view(),
    rebuild: () => {
      rebuilding ??= rebuild().finally(() => {
        rebuilding = undefined;
        firstEvent = undefined;
      });
      return rebuilding;
    },
    async close() {
      isClosed = true;
      firstEvent?.resolve();
      await rebuilding?.catch(() => undefined);
      await close();
    },
  };
}

/** Notes that events have expired on the bus before they were read. */
function noteGap(store: Pick<Store, 'write'>, clock: Clock, topic: Topic, stream: StreamFacts): void {
  const isEvents = topic === 'tasks' || topic === 'control';
  if (!isEvents || stream.after === 0 || stream.firstSeq <= stream.after + 1) return;
  // A note that cannot be written is made at the next connection.
  store.write((db) => noteFact(db, 'missed_at', clock.now())).catch(() => undefined);
}
