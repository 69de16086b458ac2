import type { Artifact, Part } from '@a2a-js/sdk';
import type { StoredChunk, StoredPart } from '@hermes-fleet/ledger';
import { artifactOf, partOf } from './parts.ts';

/** The URL at which the caller of a task reads a part of an artifact. */
export type PartUrl = (chunk: Pick<StoredChunk, 'seq'>, index: number) => string;

/** The artifacts that the executor of a task added, each with its chunks joined, in the order of their first chunks. */
export function ownArtifacts(chunks: readonly StoredChunk[], urlOf: PartUrl): Artifact[] {
  const artifacts = new Map<string, Artifact>();
  for (const chunk of chunks) {
    const known = artifacts.get(chunk.id);
    const next = chunkArtifact(chunk, urlOf);
    if (known && !chunk.replaces) {
      known.parts = joined(known.parts, next.parts);
      known.name = known.name || next.name;
      known.description = known.description || next.description;
    } else artifacts.set(chunk.id, next);
  }
  // One without a part is in the midst of being replaced, in a view of the past.
  return [...artifacts.values()].filter(({ parts }) => parts.length > 0);
}

/** One chunk, as an update of a stream has it. */
export function chunkArtifact(chunk: StoredChunk, urlOf: PartUrl): Artifact {
  const { id, name = '', description = '' } = chunk;
  const parts = chunk.parts.map((part, index) => toPart(part, () => urlOf(chunk, index)));
  return artifactOf(id, parts, { name, description });
}

/** Appends the parts of a chunk. Its first text goes on where the last one ended, so that no client sees two paragraphs. */
function joined(known: readonly Part[], more: readonly Part[]): Part[] {
  const last = known.at(-1);
  const [first, ...rest] = more;
  if (last?.content?.$case !== 'text' || first?.content?.$case !== 'text') return [...known, ...more];
  if (last.mediaType !== first.mediaType) return [...known, ...more];
  const content = { $case: 'text' as const, value: last.content.value + first.content.value };
  return [...known.slice(0, -1), { ...last, content }, ...rest];
}

function toPart(part: StoredPart, urlOf: () => string): Part {
  const mediaType = part.mediaType ?? mediaTypeOf(part);
  return partOf(contentOf(part, urlOf), mediaType, 'name' in part ? part.name : undefined);
}

function contentOf(part: StoredPart, urlOf: () => string): NonNullable<Part['content']> {
  if (part.isReferenced) return { $case: 'url', value: urlOf() };
  switch (part.kind) {
    case 'text':
      return { $case: 'text', value: part.text };
    case 'data':
      return { $case: 'data', value: part.data };
    case 'file':
      return { $case: 'raw', value: Buffer.from(part.base64, 'base64') };
    case 'link':
      return { $case: 'url', value: part.url };
  }
}

/** The media type of a part whose executor named none; empty for a file. */
export function mediaTypeOf({ kind }: Pick<StoredPart, 'kind'>): string {
  if (kind === 'text') return 'text/plain';
  return kind === 'data' ? 'application/json' : '';
}
