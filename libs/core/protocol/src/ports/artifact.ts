import type { JsonValue } from '../wire/json.ts';

/** The names of the artifacts that every task has (docs/handshake.md#task_result); no executor may use them. */
export const RESERVED_ARTIFACTS: ReadonlySet<string> = new Set(['task-result', 'late-result', 'text']);
/** The maximum number of artifacts of a task, beside those that every task has. */
export const MAX_ARTIFACTS = 100;
/** The maximum number of chunks of all artifacts of a task. */
export const MAX_ARTIFACT_CHUNKS = 2_000;
/** The maximum number of parts of all artifacts of a task. */
export const MAX_ARTIFACT_PARTS = 4_000;
/** The maximum length of the id, the name and the description of an artifact, and of a file's name and media type. */
export const MAX_ARTIFACT_NAME = 256;

/** A part of an artifact (A2A 1.0, section 4.1.6). */
export type ArtifactPart =
  | { readonly kind: 'text'; readonly text: string; readonly mediaType?: string }
  | { readonly kind: 'data'; readonly data: JsonValue; readonly mediaType?: string }
  | {
      readonly kind: 'file';
      /** The content. */
      readonly base64: string;
      readonly name?: string;
      readonly mediaType?: string;
    }
  | {
      readonly kind: 'link';
      /** The location of a file whose content the fleet does not have. */
      readonly url: string;
      readonly name?: string;
      readonly mediaType?: string;
    };

/** A piece of an artifact. The first piece, and one that replaces all before it, has its name and description. */
export interface ArtifactChunk {
  /** Identifies the artifact in its task. */
  readonly id: string;
  /** The place of this chunk among those of its artifact, from 0. A chunk whose place is taken is not stored again. */
  readonly place: number;
  readonly name?: string;
  readonly description?: string;
  /** At least one. */
  readonly parts: readonly ArtifactPart[];
  /** True for a chunk that takes the place of everything that the artifact had. */
  readonly replaces?: boolean;
  /** True for the last chunk of the artifact, as far as its executor knows. */
  readonly isLast: boolean;
}

/** The artifacts that an executor adds to its task while it runs (docs/handshake.md#artifacts). */
export interface TaskArtifacts {
  /** The most that one artifact may have, in bytes of content. */
  readonly maxBytes: number;
  /**
   * Adds a chunk, which the task's caller sees at once. Durable when it resolves. Resolves with false, and stores nothing,
   * if the place of the chunk is taken: a run that a restart repeats adds nothing twice. Throws ARTIFACT_TOO_LARGE beyond the
   * limits of an artifact or a task, and INVALID_PARAMS for a chunk that is not valid.
   */
  add(chunk: ArtifactChunk): Promise<boolean>;
  /** The stored chunks of an artifact, in order of their places. Those before one that replaces them have no parts. */
  findArtifact(id: string): readonly ArtifactChunk[];
}

/** The size of a part's content, in bytes. */
export function partBytes(part: ArtifactPart): number {
  switch (part.kind) {
    case 'text':
      return Buffer.byteLength(part.text);
    case 'data':
      return Buffer.byteLength(JSON.stringify(part.data));
    case 'file':
      return Buffer.byteLength(part.base64, 'base64');
    case 'link':
      return Buffer.byteLength(part.url);
  }
}
