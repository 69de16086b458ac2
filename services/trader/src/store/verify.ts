import { setImmediate } from 'node:timers/promises';
import { FleetError } from '@hermes-fleet/protocol';
import type { Queries, Store } from '@hermes-fleet/store';
import type {
  AuditHead,
  AuditVerifier,
  Broken,
  VerifyOptions,
  VerifyReport,
} from '../control/audit-verifier.ts';
import { writeAcceptance } from './accept.ts';
import { assertAccepted } from './accepted-rows.ts';
import { writtenUpTo } from './audit.ts';
import { assertAcceptedBooks } from './book-replay.ts';
import { readTables, type Tables } from './compare.ts';
import type { ControlTransaction } from './control-transaction.ts';
import { explainBreak } from './explain.ts';
import { type AuditRow, allSlices, rowsAfter, sliceOf, Unreadable } from './links.ts';
import { createWalk, gap, type Walk } from './walk.ts';

/** The small tables as they were after a record, before anything was written over them. */
export interface Baseline {
  readonly seq: number;
  readonly tables: Tables;
}

export interface VerifierOptions {
  readonly store: Pick<Store, 'read'>;
  /** The tables when the file was opened: a start puts right what differs from trader.yaml, and would hide it. */
  readonly baseline?: Baseline | undefined;
  /** Writes to the file. Without it nothing can be accepted. */
  readonly write?: <T>(transaction: (tx: ControlTransaction) => T) => Promise<T>;
}

/**
 * Verifies the audit chain and the tables that it makes, in slices that yield to the event loop (docs/trader.md#audit). It
 * keeps where it was, so that the next call reads only what was added.
 */
export function createVerifier({ store, baseline, write }: VerifierOptions): AuditVerifier {
  let walk = createWalk();
  /** The rows that were accepted do not change any more, so they are compared once. */
  let comparedTo = 0;
  let isUnreadable = false;

  const atBaseline = (): void => {
    if (baseline !== undefined && walk.last.seq === baseline.seq) walk.compare(baseline.tables);
  };

  /** Takes the rows that were added. Returns true if there were none. */
  const takeSlice = (): boolean => {
    const rows = sliceOf(store, walk.last.seq === 0 ? Number.MIN_SAFE_INTEGER : walk.last.seq);
    if (rows.length === 0) return true;
    store.read((db) => takeRows(db, rows));
    return false;
  };

  const takeRows = (db: Queries, rows: readonly AuditRow[]): void => {
    for (const row of rows) {
      walk.takeRow(row, db);
      atBaseline();
    }
  };

  /** Compares the tables with the last record; false if there is another one by now. */
  const isAtEnd = (): boolean =>
    store.read((db) => {
      if (rowsAfter(db, walk.last.seq, 1).length > 0) return false;
      if (walk.isSound) walk.compare(readTables(db), db);
      return true;
    });

  /** False if the last row has changed since: then everything is read again. */
  const isLastThere = (): boolean => {
    const { seq, hash } = walk.last;
    if (seq === 0) return true;
    const [row] = store.read((db) => rowsAfter(db, seq - 1, 1));
    return row?.seq === seq && row.hash === hash;
  };

  async function run({ known, signal }: VerifyOptions = {}): Promise<VerifyReport> {
    if (!isLastThere()) [walk, comparedTo] = [createWalk(), 0];
    walk.expect(known);
    try {
      if (walk.last.seq === 0) atBaseline();
      do {
        do {
          await setImmediate();
          signal?.throwIfAborted();
        } while (!takeSlice());
        await explain(signal);
        const { accepted } = walk;
        if (accepted !== undefined && accepted.upTo !== comparedTo && walk.isSound) {
          walk.differs(await assertAccepted(store, accepted, signal));
          walk.differs(await assertAcceptedBooks(store, walk.acceptedBooks, signal));
          comparedTo = accepted.upTo;
        }
      } while (!isAtEnd());
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      isUnreadable = true;
      return walk.report({ seq: walk.last.seq + 1, reason: `it cannot be read: ${error.message}` });
    }
    return walk.report(store.read((db) => cutOff(db, walk)));
  }

  /** The reason of a break, from the other rows. */
  async function explain(signal: AbortSignal | undefined): Promise<void> {
    const { unexplained } = walk;
    if (unexplained === undefined) return;
    const { head, link, known } = unexplained;
    const slices = allSlices(store, signal);
    walk.explained(await explainBreak({ slices, head, link, known, written: store.read(writtenUpTo) }));
  }

  return {
    run,
    accept: async (acceptance) => {
      if (write === undefined) throw new FleetError('INTERNAL', 'this audit is only read');
      const { broken } = await run();
      if (isUnreadable)
        throw new FleetError(
          'CONFIG_INVALID',
          `${broken?.reason}: the file is damaged; restore a backup of it`,
        );
      return write((tx) => {
        for (;;) {
          const rows = rowsAfter(tx.db, walk.last.seq, 64);
          if (rows.length === 0) break;
          takeRows(tx.db, rows);
        }
        return writeAcceptance(tx, acceptance, walk.cover());
      });
    },
  };
}

/** Verifies a whole file once. */
export const verifyAudit = (store: Pick<Store, 'read'>, options?: VerifyOptions): Promise<VerifyReport> =>
  createVerifier({ store }).run(options);

/** What the file's own counter, or a published head, says about records after the last one. */
function cutOff(db: Queries, { last, expected }: Walk): Broken | undefined {
  const end: AuditHead['seq'] = Math.max(writtenUpTo(db), expected?.seq ?? 0);
  if (last.seq < end) return gap(last.seq + 1, end, 'the tail was cut off');
  if (expected === undefined) return undefined;
  return { seq: expected.seq, reason: 'it was published, and is gone' };
}
