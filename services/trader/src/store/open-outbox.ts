import type { OutboxSource } from '@hermes-fleet/protocol/ports';
import { openReader, text } from '@hermes-fleet/store';
import { cursorOf, readEvents } from './outbox.ts';
import { CONTROL } from './schema.ts';

/** Opens a control store, which the trader may own, to read its published events. Throws as `openReader` does. */
export function openControlOutbox(file: string): Pick<OutboxSource, 'read' | 'cursor'> & { close(): void } {
  const reader = openReader(file, CONTROL);
  const id = reader.read((db) =>
    text(db.get(`SELECT value FROM meta WHERE key = 'ledger_id'`) ?? {}, 'value'),
  );
  return {
    read: (afterSeq, limit) => reader.read((db) => readEvents(db, id, afterSeq, limit)),
    cursor: () => reader.read(cursorOf),
    close: reader.close,
  };
}
