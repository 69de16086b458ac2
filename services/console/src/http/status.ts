import type { Store } from '@hermes-fleet/store';
import type { BusView } from '../consume/readers.ts';
import { factOf, oldestEventAt } from '../read-model/facts.ts';
import { skipCount } from '../read-model/positions.ts';
import { isoOrNull } from '../read-model/task-rows.ts';
import type { StatusDocument } from './api.ts';

/** What the console knows, and since when. */
export function statusDocument(
  store: Pick<Store, 'read'>,
  { connected, reason, behind }: BusView,
  staleAfterS: number,
): StatusDocument {
  return store.read((db) => ({
    bus: { connected, reason: reason ?? null },
    last_event_at: isoOrNull(factOf(db, 'last_event_at')),
    last_announce_at: isoOrNull(factOf(db, 'last_announce_at')),
    stale_after_s: staleAfterS,
    reaches_back_to: isoOrNull(oldestEventAt(db)),
    rebuilt_at: isoOrNull(factOf(db, 'rebuilt_at')),
    behind: behind ?? null,
    skipped: skipCount(db),
    missed_at: isoOrNull(factOf(db, 'missed_at')),
  }));
}
