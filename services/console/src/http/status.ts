import type { Store } from '@hermes-fleet/store';
import type { BusView } from '../consume/readers.ts';
import { factOf, oldestEventAt, skipCount } from '../read-model/facts.ts';
import { isoOrNull } from '../read-model/task-rows.ts';

/** What the console knows, and since when. */
export const statusDocument = (
  store: Pick<Store, 'read'>,
  { connected, reason, behind }: BusView,
  staleAfterS: number,
) =>
  store.read((db) => ({
    bus: { connected, reason: reason ?? null },
    /** The newest event and announce that were projected. A view is stale after `stale_after_s` without any. */
    last_event_at: isoOrNull(factOf(db, 'last_event_at')),
    last_announce_at: isoOrNull(factOf(db, 'last_announce_at')),
    stale_after_s: staleAfterS,
    /** The oldest task event in the read model, and when that was rebuilt. */
    reaches_back_to: isoOrNull(oldestEventAt(db)),
    rebuilt_at: isoOrNull(factOf(db, 'rebuilt_at')),
    /** Events that are on NATS and not projected yet; null while the bus is away. */
    behind: behind ?? null,
    skipped: skipCount(db),
    /** When events were found to have expired on NATS before the console had read them; null if none did. */
    missed_at: isoOrNull(factOf(db, 'missed_at')),
  }));

/** `GET /api/status`, and the event `status` of `GET /api/stream`. */
export type StatusDocument = ReturnType<typeof statusDocument>;
