import { extname } from 'node:path';
import type { PeerArtifact, PeerPart } from '@hermes-fleet/a2a/client';
import { numbered, safeName } from '@hermes-fleet/protocol';

/** A part of an artifact, and the name of its file, which no other of the same task has. */
export interface ArtifactFile {
  /** The id of the artifact. */
  readonly artifact: string;
  readonly name: string;
  readonly part: PeerPart;
}

/**
 * Names a file for each part: as the part is named, else as its artifact is. An agent chooses these names, so a file has
 * only the last part of a path, without what a shell or a terminal could misread. Text and JSON without an extension get
 * one. Names that differ in case alone are the same, as they are for some file systems: the second gets a number.
 */
export function artifactFiles(artifacts: readonly PeerArtifact[]): ArtifactFile[] {
  const taken = new Set<string>();
  /** The next number to try for a name, so that a thousand parts of one name do not try all numbers. */
  const next = new Map<string, number>();
  const unique = (wanted: string): string => {
    const key = wanted.toLowerCase();
    for (let n = next.get(key) ?? 1; ; n += 1) {
      const name = numbered(wanted, n);
      if (taken.has(name.toLowerCase())) continue;
      taken.add(name.toLowerCase());
      next.set(key, n + 1);
      return name;
    }
  };
  return artifacts.flatMap((artifact, at) =>
    artifact.parts.map((part) => {
      const unnamed = `artifact-${at + 1}`;
      const own = part.kind === 'file' ? safeName(part.name ?? '') : undefined;
      const base = own ?? safeName(artifact.name ?? '') ?? safeName(artifact.id) ?? unnamed;
      return { artifact: artifact.id, name: unique(withExtension(base, part)), part };
    }),
  );
}

function withExtension(name: string, part: PeerPart): string {
  if (extname(name) !== '') return name;
  if (part.kind === 'data' || part.mediaType === 'application/json') return `${name}.json`;
  return part.kind === 'text' || part.mediaType === 'text/plain' ? `${name}.txt` : name;
}
