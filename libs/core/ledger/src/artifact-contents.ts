import type { ArtifactChunk, ArtifactPart } from '@hermes-fleet/protocol/ports';
import type { Queries } from '@hermes-fleet/store';
import { damaged, withContent, writeContent } from './artifact-parts.ts';
import { chunkOf, findChunk } from './artifact-rows.ts';
import type { StoredPart } from './artifact-types.ts';

/** Stores the content of those parts of a new chunk that replies refer to. */
export function writeContents(
  db: Queries,
  n: number,
  seq: number,
  parts: readonly ArtifactPart[],
  stored: readonly StoredPart[],
): void {
  for (const [at, part] of parts.entries())
    if (stored[at]?.isReferenced && part.kind !== 'link')
      db.insert('artifact_contents', { task: n, seq, part: at, content: writeContent(part) });
}

/** Removes the content of an artifact that is being replaced. */
export function removeContents(db: Queries, n: number, artifactId: string): void {
  db.run(
    `DELETE FROM artifact_contents
     WHERE task = ?1 AND seq IN (SELECT seq FROM artifacts WHERE task = ?1 AND artifact_id = ?2)`,
    n,
    artifactId,
  );
}

/** See `Ledger.artifactPart`. */
export function findPart(db: Queries, n: number, seq: number, at: number): ArtifactPart | undefined {
  const part = findChunk(db, n, seq)?.parts[at];
  return part && wholePart(db, n, seq, at, part);
}

/** See `Ledger.wholeArtifact`. */
export function findWhole(db: Queries, n: number, artifactId: string): ArtifactChunk[] {
  return db
    .all('SELECT * FROM artifacts WHERE task = ? AND artifact_id = ? ORDER BY seq', n, artifactId)
    .map((row) => {
      const { seq, ...chunk } = chunkOf(row);
      return { ...chunk, parts: chunk.parts.map((part, at) => wholePart(db, n, seq, at, part)) };
    });
}

function wholePart(db: Queries, n: number, seq: number, at: number, part: StoredPart): ArtifactPart {
  if (!part.isReferenced) return part;
  const row = db.get(
    'SELECT content FROM artifact_contents WHERE task = ? AND seq = ? AND part = ?',
    n,
    seq,
    at,
  );
  if (row === undefined) throw damaged();
  return withContent(part, row);
}
