import type { ArtifactChunk, ArtifactPart } from '@hermes-fleet/protocol/ports';

/** A chunk of an artifact, with the sequence of its `artifact` event. It has no parts once a later chunk has replaced it. */
export interface StoredChunk extends Omit<ArtifactChunk, 'parts'> {
  readonly seq: number;
  readonly parts: readonly StoredPart[];
}

/** A part of a stored chunk, as replies have it. */
export type StoredPart = (ArtifactPart & { readonly isReferenced?: undefined }) | ReferencedPart;

/** A part that replies refer to, because it is large or others came before; `Ledger.artifactPart` has its content. */
export interface ReferencedPart {
  readonly kind: 'text' | 'data' | 'file';
  readonly name?: string;
  readonly mediaType?: string;
  readonly isReferenced: true;
}

/** The most that a task may store as artifacts, in bytes of content. */
export interface ArtifactLimits {
  readonly artifactBytes: number;
  readonly taskBytes: number;
}
