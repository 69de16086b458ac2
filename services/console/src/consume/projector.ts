import type { CloudEvent } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import type { Queries, Store } from '@hermes-fleet/store';
import type { Unusable } from '../projection/event.ts';
import { timeIn } from '../projection/fields.ts';
import { type Applied, applyTaskEvent } from '../read-model/apply.ts';
import { applyAnnounce, applyAuditHead, applyDecision } from '../read-model/apply-control.ts';
import { noteFact } from '../read-model/facts.ts';
import { countSkip, savePosition } from '../read-model/positions.ts';
import { type BatchWriter, createBatchWriter } from './batch-writer.ts';
import { type Arrival, FILTERS, type Topic } from './readers.ts';

export interface ProjectorOptions {
  readonly store: Pick<Store, 'write'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after COMMIT. */
  readonly onApplied: (applied: readonly Applied[], arrivals: readonly Arrival[], skipped: number) => void;
}

/**
 * Projects what arrives into the read model. The position of each stream is stored in the transaction of its events, so
 * that each counts exactly once, whenever the process ends.
 */
export function createProjector(options: ProjectorOptions): BatchWriter<Arrival> {
  const { store, clock, log } = options;
  return createBatchWriter<Arrival, Applied | typeof SKIPPED>({
    store,
    clock,
    log,
    apply(db, arrival) {
      const applied = applyArrival(db, arrival);
      if (applied === undefined || !('unusable' in applied)) return applied;
      return skip(db, arrival, applied.unusable);
    },
    refuse: (db, arrival) => skip(db, arrival, 'the projection failed'),
    finish(db, batch) {
      const last = new Map(batch.map(({ topic, meta }) => [topic, meta]));
      for (const [topic, meta] of last) savePosition(db, FILTERS[topic], meta);
      noteTimes(db, batch);
    },
    onCommitted: (results, arrivals) => {
      const applied = results.filter((result) => result !== SKIPPED);
      options.onApplied(applied, arrivals, results.length - applied.length);
    },
  });
}

const SKIPPED = 'skipped';

function skip(db: Queries, { meta, event }: Arrival, reason: string): typeof SKIPPED {
  countSkip(db, reason.slice(0, 100), `${meta.subject} ${meta.seq} ${event?.id ?? ''}`);
  return SKIPPED;
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
