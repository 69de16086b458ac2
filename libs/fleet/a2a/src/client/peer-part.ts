import { z } from 'zod';

/** One part of a peer's message or artifact; `bytes` is the size of an inline file. */
export type PeerPart =
  | { readonly kind: 'text'; readonly text: string; readonly mediaType?: string }
  | { readonly kind: 'data'; readonly data: unknown; readonly mediaType?: string }
  | {
      readonly kind: 'file';
      readonly name?: string;
      readonly mediaType?: string;
      readonly bytes?: number;
      /** The content of an inline file. */
      readonly base64?: string;
      /** The location of a file that is not inline. */
      readonly url?: string;
    };

export interface PeerArtifact {
  readonly id: string;
  readonly name?: string;
  readonly description?: string;
  /** True if nothing follows: the peer has said so, or its task has ended. */
  readonly isComplete?: boolean;
  readonly parts: readonly PeerPart[];
}

const optionalString = z.string().nullish().catch(undefined);

export const WirePart = z.looseObject({
  text: z.string().nullish(),
  data: z.unknown().optional(),
  raw: optionalString,
  url: optionalString,
  filename: optionalString,
  mediaType: optionalString,
});
export type WirePart = z.output<typeof WirePart>;

export const WireArtifact = z.looseObject({
  artifactId: z.string(),
  name: optionalString,
  description: optionalString,
  /** Not of the wire: set for an artifact whose last chunk has come. */
  isComplete: z.boolean().optional().catch(undefined),
  parts: z.array(WirePart).nullish(),
});

export function toPeerArtifact(artifact: z.output<typeof WireArtifact>): PeerArtifact {
  const { artifactId, name, description, isComplete, parts } = artifact;
  return {
    id: artifactId,
    ...(name ? { name } : {}),
    ...(description ? { description } : {}),
    ...(isComplete ? { isComplete } : {}),
    parts: toPeerParts(parts ?? []),
  };
}

/** Converts the parts and drops those of unknown kinds. */
export function toPeerParts(parts: readonly WirePart[]): PeerPart[] {
  return parts.flatMap((part): PeerPart[] => {
    const { text, data, raw, url, filename, mediaType } = part;
    const typed = mediaType ? { mediaType } : {};
    if (typeof text === 'string') return [{ kind: 'text', text, ...typed }];
    if (data !== undefined) return [{ kind: 'data', data, ...typed }];
    // An empty `raw` is the content of an empty file.
    const inline = typeof raw === 'string' && (raw !== '' || !url) ? raw : undefined;
    if (inline === undefined && !url) return [];
    return [
      {
        kind: 'file',
        ...(filename ? { name: filename } : {}),
        ...typed,
        ...(inline === undefined ? {} : { base64: inline, bytes: Buffer.byteLength(inline, 'base64') }),
        ...(url ? { url } : {}),
      },
    ];
  });
}
