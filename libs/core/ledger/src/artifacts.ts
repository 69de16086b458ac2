import { FleetError, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import {
  type ArtifactChunk,
  type ArtifactPart,
  MAX_ARTIFACT_CHUNKS,
  MAX_ARTIFACT_NAME,
  MAX_ARTIFACT_PARTS,
  MAX_ARTIFACTS,
  partBytes,
  RESERVED_ARTIFACTS,
} from '@hermes-fleet/protocol/ports';
import type { Queries } from '@hermes-fleet/store';
import { appendEvent } from './append.ts';
import type { Appended } from './appended.ts';
import { removeContents, writeContents } from './artifact-contents.ts';
import { referenceTo, writeParts } from './artifact-parts.ts';
import { findKnown, type Known, sum } from './artifact-rows.ts';
import type { ArtifactLimits, StoredPart } from './artifact-types.ts';
import type { Scope, Standing } from './task-writes.ts';

const MAX_URL = 4_096;
const MAX_INLINE_PART = 256 * 1024;
const MAX_INLINE_TASK = 1024 * 1024;

/** The transaction of `Ledger.addArtifact`; undefined, without a change, for a chunk that is stored and for an ended task. */
export function addChunk(
  db: Queries,
  scope: Scope,
  to: Standing,
  chunk: ArtifactChunk,
  limits: ArtifactLimits,
): Appended | undefined {
  if (!to.unfinished) return undefined;
  const all = to.belongings.has('artifacts') ? findKnown(db, to.n) : [];
  const known = all.find(({ id }) => id === chunk.id);
  if (chunk.place < (known?.chunks ?? 0)) return undefined;
  const bytes = chunk.parts.reduce((sum, part) => sum + partBytes(part), 0);
  assertFollows(chunk, known);
  assertWithin(chunk, bytes, known, all, limits);
  const before = sum(all, 'inlineBytes') - (chunk.replaces ? (known?.inlineBytes ?? 0) : 0);
  const { parts, inlineBytes } = withReferences(chunk.parts, before);
  const appended = appendEvent(db, scope, to, { type: 'artifact', data: eventData(chunk, bytes) });
  if (!appended) return undefined;
  scope.writes.stores(to, 'artifacts');
  if (chunk.replaces) {
    removeContents(db, to.n, chunk.id);
    db.run(
      `UPDATE artifacts SET bytes = 0, inline_bytes = 0, part_count = 0, parts = '{"parts":[]}' WHERE task = ? AND artifact_id = ?`,
      to.n,
      chunk.id,
    );
  }
  const { seq } = appended.event;
  db.insert('artifacts', {
    task: to.n,
    seq,
    artifact_id: chunk.id,
    place: chunk.place,
    replaces: chunk.replaces ? 1 : 0,
    is_last: chunk.isLast ? 1 : 0,
    bytes,
    inline_bytes: inlineBytes,
    part_count: parts.length,
    name: chunk.name ?? null,
    description: chunk.description ?? null,
    parts: writeParts(parts),
  });
  writeContents(db, to.n, seq, chunk.parts, parts);
  return appended;
}

/**
 * Marks the parts that replies refer to: those above 256 KiB, and those with which the parts of the task that are inline
 * would exceed 1 MiB. The decision is stored, so that streams and replies show a part in the same way.
 */
function withReferences(
  parts: readonly ArtifactPart[],
  before: number,
): { readonly parts: readonly StoredPart[]; readonly inlineBytes: number } {
  let inlineBytes = 0;
  const marked = parts.map((part): StoredPart => {
    const bytes = partBytes(part);
    const isInline = bytes <= MAX_INLINE_PART && before + inlineBytes + bytes <= MAX_INLINE_TASK;
    if (!isInline && part.kind !== 'link') return referenceTo(part);
    inlineBytes += bytes;
    return part;
  });
  return { parts: marked, inlineBytes };
}

/** Throws INVALID_PARAMS for a chunk that no task may have. */
export function assertValidChunk(chunk: ArtifactChunk): void {
  const wrong = (path: string, reason: string): FleetError =>
    new FleetError('INVALID_PARAMS', `${path} of an artifact ${reason}`, { fields: [{ path, reason }] });
  if (chunk.id === '') throw wrong('id', 'is empty');
  if (RESERVED_ARTIFACTS.has(chunk.id))
    throw wrong('id', `is "${chunk.id}", which every task has: use another`);
  if (chunk.parts.length === 0) throw wrong('parts', 'is empty: an artifact has at least one part');
  const names: [path: string, value: string | undefined][] = [
    ['id', chunk.id],
    ['name', chunk.name],
    ['description', chunk.description],
    ...chunk.parts.flatMap((part, at): [string, string | undefined][] => [
      [`parts[${at}].mediaType`, part.mediaType],
      [`parts[${at}].name`, 'name' in part ? part.name : undefined],
    ]),
  ];
  for (const [at, part] of chunk.parts.entries())
    if (part.kind === 'link' && part.url.length > MAX_URL)
      throw wrong(`parts[${at}].url`, `is longer than ${MAX_URL} characters: use a shorter one`);
  for (const [path, value = ''] of names)
    if (value.length > MAX_ARTIFACT_NAME)
      throw wrong(path, `is longer than ${MAX_ARTIFACT_NAME} characters: use a shorter one`);
}

function assertFollows({ id, place, replaces }: ArtifactChunk, known: Known | undefined): void {
  if (place > (known?.chunks ?? 0))
    throw new FleetError('INTERNAL', `chunk ${place} of artifact "${id}" came before those that precede it`);
  if (known?.isComplete && !replaces)
    throw new FleetError('INTERNAL', `artifact "${id}" is complete: nothing can be appended to it`);
}

function assertWithin(
  { id, replaces, parts: { length: count } }: ArtifactChunk,
  bytes: number,
  known: Known | undefined,
  all: readonly Known[],
  { artifactBytes, taskBytes }: ArtifactLimits,
): void {
  const tooLarge = (what: string): FleetError =>
    new FleetError('ARTIFACT_TOO_LARGE', `artifact "${id}" is not stored: ${what}`);
  const before = known?.bytes ?? 0;
  const kept = replaces ? 0 : before;
  if (kept + bytes > artifactBytes)
    throw tooLarge(
      `it would have ${kept + bytes} bytes, and fleet.limits.max_artifact_bytes is ${artifactBytes}`,
    );
  const total = sum(all, 'bytes') - before + kept + bytes;
  if (total > taskBytes)
    throw tooLarge(
      `the task would have ${total} bytes of artifacts, and fleet.limits.max_task_artifact_bytes is ${taskBytes}`,
    );
  if (known === undefined && all.length >= MAX_ARTIFACTS)
    throw tooLarge(`a task has at most ${MAX_ARTIFACTS} artifacts`);
  const parts = sum(all, 'parts') - (replaces ? (known?.parts ?? 0) : 0) + count;
  if (parts > MAX_ARTIFACT_PARTS)
    throw tooLarge(`the artifacts of a task have at most ${MAX_ARTIFACT_PARTS} parts`);
  if (sum(all, 'chunks') >= MAX_ARTIFACT_CHUNKS)
    throw tooLarge(`the artifacts of a task have at most ${MAX_ARTIFACT_CHUNKS} chunks`);
}

/** The data of an `artifact` event: names and sizes, never contents (docs/events.md#the-events). */
function eventData({ id, place, name, parts, isLast }: ArtifactChunk, bytes: number): JsonObject {
  const mediaType = parts[0]?.mediaType;
  const data: Record<string, JsonValue> = { artifact_id: id, chunk: place, bytes, last: isLast };
  if (name !== undefined) data.name = name;
  if (mediaType !== undefined) data.media_type = mediaType;
  return data;
}
