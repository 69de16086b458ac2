import type { JsonObject } from '@hermes-fleet/protocol';
import { integer, type Queries, text } from '@hermes-fleet/store';
import type { Acceptance, AuditHead } from '../control/audit-verifier.ts';
import { digestOf } from './accepted-rows.ts';
import { writtenUpTo } from './audit.ts';
import { enginesRecord } from './book-replay.ts';
import { concernRecord } from './compare.ts';
import type { ControlTransaction } from './control-transaction.ts';
import { strategyRecord } from './rows.ts';
import { concernsIn, strategiesIn, unlistedIn } from './tables.ts';
import type { Cover } from './walk.ts';

/**
 * Writes an `accept` record: the rows that it covers, and what the tables say, with which the replay begins anew. Its number
 * is above that of the published head, so that no published number is used twice.
 */
export function writeAcceptance(
  tx: ControlTransaction,
  { caller, reason, broken, published }: Acceptance,
  { follows, stretch }: Cover,
): AuditHead {
  const { db } = tx;
  const last = Math.max(follows.seq, writtenUpTo(db), published?.seq ?? 0);
  tx.continueAt({ seq: last, hash: follows.hash });
  return tx.append({
    kind: 'accept',
    broken: { ...broken },
    caller,
    concerns: concernsIn(db).map(concernRecord),
    covers: stretch === undefined ? null : { after: { ...stretch.after }, digest: stretch.digest },
    decisions: { digest: digestOf(db, last + 1), open: openIn(db) },
    engines: enginesRecord(db),
    follows: { ...follows },
    published: published === undefined ? null : { ...published },
    reason,
    strategies: strategiesIn(db).map(strategyRecord),
    unlisted: unlistedIn(db).map(concernRecord),
  });
}

/** Applied decisions without an outcome. */
const openIn = (db: Queries): JsonObject[] =>
  db.all('SELECT * FROM decisions WHERE open = 1 ORDER BY attempt_seq').map((row) => ({
    seq: integer(row, 'attempt_seq'),
    decision_id: text(row, 'decision_id'),
    concern_id: text(row, 'concern_id'),
  }));
