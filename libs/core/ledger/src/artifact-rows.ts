import { integer, type Queries, type Row, text } from '@hermes-fleet/store';
import { readParts } from './artifact-parts.ts';
import type { StoredChunk } from './artifact-types.ts';

/** What the file has of one artifact of a task. */
export interface Known {
  readonly id: string;
  readonly chunks: number;
  readonly bytes: number;
  readonly inlineBytes: number;
  readonly parts: number;
  readonly isComplete: boolean;
}

/** The chunks of a task by its number, in the order of their events. */
export function findChunks(db: Queries, n: number): StoredChunk[] {
  return db.all('SELECT * FROM artifacts WHERE task = ? ORDER BY seq', n).map(chunkOf);
}

export function findChunk(db: Queries, n: number, seq: number): StoredChunk | undefined {
  const row = db.get('SELECT * FROM artifacts WHERE task = ? AND seq = ?', n, seq);
  return row && chunkOf(row);
}

/** See `Ledger.inlineArtifactBytes`. */
export function sumInlineBytes(db: Queries, n: number): number {
  return sum(findKnown(db, n), 'inlineBytes');
}

export const sum = (all: readonly Known[], field: 'bytes' | 'inlineBytes' | 'chunks' | 'parts'): number =>
  all.reduce((total, known) => total + known[field], 0);

export function findKnown(db: Queries, n: number): Known[] {
  return db
    .all(
      `SELECT artifact_id, count(*) AS chunks, sum(bytes) AS bytes, sum(inline_bytes) AS inline_bytes,
         sum(part_count) AS part_count, max(place * 2 + is_last) AS last
       FROM artifacts WHERE task = ? GROUP BY artifact_id`,
      n,
    )
    .map((row) => ({
      id: text(row, 'artifact_id'),
      chunks: integer(row, 'chunks'),
      bytes: integer(row, 'bytes'),
      inlineBytes: integer(row, 'inline_bytes'),
      parts: integer(row, 'part_count'),
      isComplete: integer(row, 'last') % 2 === 1,
    }));
}

export function chunkOf(row: Row): StoredChunk {
  return {
    seq: integer(row, 'seq'),
    id: text(row, 'artifact_id'),
    place: integer(row, 'place'),
    parts: readParts(row),
    replaces: integer(row, 'replaces') === 1,
    isLast: integer(row, 'is_last') === 1,
    ...(row.name === null ? {} : { name: text(row, 'name') }),
    ...(row.description === null ? {} : { description: text(row, 'description') }),
  };
}
