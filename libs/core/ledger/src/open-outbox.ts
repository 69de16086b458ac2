import type { OutboxSource } from '@hermes-fleet/protocol/ports';
import { integer, openReader, text } from '@hermes-fleet/store';
import { cursorOf, readEvents } from './outbox.ts';
import { LEDGER } from './schema.ts';

/** The published events of a ledger that another process may own. */
export interface OutboxReader extends Pick<OutboxSource, 'read' | 'cursor'> {
  /** The number of ended tasks that the ledger no longer has: their events are not in it. */
  removedTasks(): number;
  close(): void;
}

/** Opens a ledger to read its events; neither creates, migrates nor owns it. Throws as `openReader` does. */
export function openOutbox(file: string, profile: string): OutboxReader {
  const reader = openReader(file, LEDGER);
  const id = reader.read((db) =>
    text(db.get(`SELECT value FROM meta WHERE key = 'ledger_id'`) ?? {}, 'value'),
  );
  return {
    read: (afterSeq, limit) => reader.read((db) => readEvents(db, { profile, id }, afterSeq, limit)),
    cursor: () => reader.read(cursorOf),
    removedTasks: () =>
      reader.read((db) => {
        const row = db.get(
          `SELECT (SELECT coalesce(sum(value), 0) FROM totals WHERE counter = 'tasks')
             - (SELECT count(*) FROM endings) AS removed`,
        );
        return Math.max(0, integer(row ?? {}, 'removed'));
      }),
    close: reader.close,
  };
}
