import type { Clock } from '@hermes-fleet/protocol/ports';
import { numberOf, type Queries, text } from '@hermes-fleet/store';

const DAY_MS = 86_400_000;

/** The UTC calendar day of a time in ms since the epoch, as `YYYY-MM-DD`. */
export const utcDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** The latest day with tokens; undefined without any. */
export function latestDay(db: Queries): string | undefined {
  const row = db.get('SELECT max(day) AS day FROM spending');
  return row === undefined || row.day === null ? undefined : text(row, 'day');
}

/**
 * The day that tokens count for (docs/configuration.md#spending): the clock's, or the latest with tokens if the clock is
 * before it, so that a clock that is set back opens no earlier day.
 */
export function spendingDay(clockDay: string, latest: string | undefined): string {
  return latest !== undefined && latest > clockDay ? latest : clockDay;
}

/** The key in `meta` of how long the profile has run with a clock that is before the latest day with tokens, ms. */
const BEHIND_MS = 'clock_behind_ms';

/**
 * Keeps the days of spending. Where the clock is before the latest day, one of the two was wrong. If the profile has run for
 * 24 hours and the clock is still behind, it was the clock of the later days: their tokens are removed, so that the clock's
 * day begins. The time is measured by the monotonic clock between two calls, and outlasts a restart.
 */
export function createSpendingDays(clock: Pick<Clock, 'now' | 'monotonic'>) {
  let lookedAt: number | undefined;
  return {
    /** Removes the days before a time, ms since the epoch, but never the latest; and later days than the clock's, when they are given up. */
    prune(db: Queries, before: number): void {
      db.run('DELETE FROM spending WHERE day < ? AND day < (SELECT max(day) FROM spending)', utcDay(before));
      const today = utcDay(clock.now());
      if (spendingDay(today, latestDay(db)) === today) {
        lookedAt = undefined;
        db.run('DELETE FROM meta WHERE key = ?', BEHIND_MS);
        return;
      }
      const now = clock.monotonic();
      const earlierMs = numberOf(db, 'SELECT CAST(value AS INTEGER) FROM meta WHERE key = ?', BEHIND_MS);
      const behindMs = earlierMs + Math.round(now - (lookedAt ?? now));
      lookedAt = now;
      if (behindMs < DAY_MS) db.run('INSERT OR REPLACE INTO meta VALUES (?, ?)', BEHIND_MS, String(behindMs));
      else db.run('DELETE FROM spending WHERE day > ?', today);
    },
  };
}
