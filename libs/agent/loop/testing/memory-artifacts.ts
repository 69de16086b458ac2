import type { ArtifactChunk, TaskArtifacts } from '@hermes-fleet/protocol/ports';

export interface MemoryArtifacts extends TaskArtifacts {
  /** All chunks, in order. */
  readonly chunks: readonly ArtifactChunk[];
}

/** Artifacts in memory. A chunk whose place is taken is not stored again, as in a ledger. */
export function memoryArtifacts(
  options: { readonly maxBytes?: number; readonly onAdd?: () => void } = {},
): MemoryArtifacts {
  const chunks: ArtifactChunk[] = [];
  const findArtifact = (id: string): readonly ArtifactChunk[] => chunks.filter((chunk) => chunk.id === id);
  return {
    chunks,
    maxBytes: options.maxBytes ?? 1_000_000,
    findArtifact,
    async add(chunk) {
      if (chunk.place < findArtifact(chunk.id).length) return false;
      chunks.push(chunk);
      options.onAdd?.();
      return true;
    },
  };
}
