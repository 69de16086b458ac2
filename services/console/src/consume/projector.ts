import { type CloudEvent, FleetError } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import type { Queries, Store } from '@hermes-fleet/store';
import type { Unusable } from '../projection/event.ts';
import { timeIn } from '../projection/fields.ts';
import { type Applied, applyTaskEvent } from '../read-model/apply.ts';
import { applyAnnounce, applyAuditHead, applyDecision } from '../read-model/apply-control.ts';
import { countSkip, noteFact, savePosition } from '../read-model/facts.ts';
import { type Arrival, FILTERS, type Topic } from './readers.ts';

interface ProjectorOptions {
  readonly store: Pick<Store, 'write'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after COMMIT. */
  readonly onApplied: (applied: readonly Applied[], arrivals: readonly Arrival[], skipped: number) => void;
}

interface Projector {
  /** Queues what has arrived; resolves when there is room for the next one. */
  push(arrival: Arrival): Promise<void> | void;
  /** Resolves when all that is queued is written. */
  idle(): Promise<void>;
  /** Drops what is queued and writes nothing more: its position is not stored either. */
  close(): Promise<void>;
}

/** Bounds how long one transaction holds up the views. */
const MAX_BATCH = 200;
const MAX_QUEUED = 2_000;
const RETRY_MS = 1_000;

/**
 * Projects what arrives into the read model in its order, many in one transaction: all that arrived while the last one was
 * written. The position of each stream is stored in the transaction of its events, so that each counts exactly once,
 * whenever the process ends. A store that fails is tried again until it works, which holds up the readers. An event that
 * makes its transaction fail is skipped alone, so that it stops nothing.
 */
export function createProjector({ store, clock, log, onApplied }: ProjectorOptions): Projector {
  const queue: Arrival[] = [];
  const closing = new AbortController();
  let room: PromiseWithResolvers<void> | undefined;
  let running: Promise<void> | undefined;

  const write = async (batch: readonly Arrival[], apply: typeof applyOrSkip): Promise<void> => {
    const results = await store.write((db) => {
      const made = batch.map((arrival) => apply(db, arrival)).filter((result) => result !== undefined);
      const last = new Map(batch.map(({ topic, meta }) => [topic, meta]));
      for (const [topic, meta] of last) savePosition(db, FILTERS[topic], meta);
      noteTimes(db, batch);
      return made;
    });
    const applied = results.filter((result) => result !== SKIPPED);
    onApplied(applied, batch, results.length - applied.length);
  };

  /** Writes the next ones, and returns how many are done; 0 to try again, one by one. Throws while the store is away. */
  const writeNext = async (batch: readonly Arrival[]): Promise<number> => {
    try {
      await write(batch, applyOrSkip);
    } catch (error) {
      if (isUnavailable(error)) throw error;
      const [only] = batch;
      if (batch.length > 1 || only === undefined) return 0;
      log.error({ err: error }, 'an event could not be projected: it is skipped');
      await write([only], (db, arrival) => skip(db, arrival, 'the projection failed'));
    }
    return batch.length;
  };

  const run = async (): Promise<void> => {
    let alone = 0;
    while (queue.length > 0 && !closing.signal.aborted) {
      const batch = queue.slice(0, alone > 0 ? 1 : MAX_BATCH);
      try {
        const done = await writeNext(batch);
        queue.splice(0, done);
        alone = done === 0 ? batch.length : Math.max(0, alone - done);
      } catch (error) {
        log.warn({ err: error }, 'the read model cannot be written: trying again');
        await clock.sleep(RETRY_MS, closing.signal).catch(() => undefined);
      }
      room?.resolve();
      room = undefined;
    }
    running = undefined;
  };

  return {
    push(arrival) {
      if (closing.signal.aborted) return;
      queue.push(arrival);
      running ??= Promise.resolve().then(run);
      if (queue.length < MAX_QUEUED) return;
      room ??= Promise.withResolvers();
      return room.promise;
    },
    idle: async () => {
      while (running) await running;
    },
    async close() {
      closing.abort();
      queue.length = 0;
      room?.resolve();
      await running;
    },
  };
}

const isUnavailable = (error: unknown): boolean =>
  error instanceof FleetError && (error.code === 'STORE_UNAVAILABLE' || error.code === 'SHUTTING_DOWN');

const SKIPPED = 'skipped';

function skip(db: Queries, { meta, event }: Arrival, reason: string): typeof SKIPPED {
  countSkip(db, reason.slice(0, 100), `${meta.subject} ${meta.seq} ${event?.id ?? ''}`);
  return SKIPPED;
}

/** Projects an arrival, or counts why it cannot be; undefined for one that was projected before. */
function applyOrSkip(db: Queries, arrival: Arrival): Applied | typeof SKIPPED | undefined {
  const applied = applyArrival(db, arrival);
  return applied && 'unusable' in applied ? skip(db, arrival, applied.unusable) : applied;
}

function applyArrival(db: Queries, { topic, meta, event }: Arrival): Applied | Unusable | undefined {
  if (event === undefined) return { unusable: 'not an event of the fleet' };
  const { subject } = meta;
  const timed = { ...event, time: timeOf(event, meta) };
  switch (topic) {
    case 'tasks':
      return applyTaskEvent(db, timed, subject);
    case 'announces':
      return applyAnnounce(db, timed, subject);
    case 'control':
      return applyDecision(db, timed);
    case 'audit':
      return applyAuditHead(db, timed, subject);
  }
}

/**
 * The time of an event, which is no later than its arrival on the bus: one of a clock that is ahead would otherwise be the
 * newest until then, and no retention would remove it.
 */
function timeOf({ time }: CloudEvent, { storedAt }: Arrival['meta']): string {
  return Date.parse(time) > storedAt ? new Date(storedAt).toISOString() : time;
}

/** Notes when the newest event and the newest announce were made. */
function noteTimes(db: Queries, batch: readonly Arrival[]): void {
  const newest = (isMeant: (topic: Topic) => boolean): number =>
    batch.reduce((latest, { topic, event, meta }) => {
      const at = event && isMeant(topic) ? (timeIn(timeOf(event, meta)) ?? 0) : 0;
      return Math.max(at, latest);
    }, 0);
  const event = newest((topic) => topic === 'tasks' || topic === 'control');
  const announce = newest((topic) => topic === 'announces');
  if (event > 0) noteFact(db, 'last_event_at', event);
  if (announce > 0) noteFact(db, 'last_announce_at', announce);
}
