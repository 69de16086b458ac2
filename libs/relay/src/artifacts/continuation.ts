import { isDeepStrictEqual } from 'node:util';
import type { PeerPart } from '@hermes-fleet/a2a';
import type { ArtifactPart } from '@hermes-fleet/protocol';

/** The part of an artifact at a peer, or of ours, as far as the two can be compared. */
export type Content =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'data'; readonly data: unknown }
  | { readonly kind: 'file'; readonly base64?: string | undefined };

/** Our parts as content: a file that is not inline at the peer is equal to any file of ours at its place. */
export function contentOf(parts: readonly (ArtifactPart | PeerPart)[]): Content[] {
  return parts.map((part): Content => {
    if (part.kind === 'text') return { kind: 'text', text: part.text };
    if (part.kind === 'data') return { kind: 'data', data: part.data };
    return { kind: 'file', base64: 'base64' in part ? part.base64 : undefined };
  });
}

/** Parts with neighboring texts joined: an agent and its client may cut a text at different places. */
export function merged<P extends ArtifactPart | PeerPart>(parts: readonly P[]): P[] {
  const all: P[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    if (last?.kind === 'text' && part.kind === 'text')
      all[all.length - 1] = { ...last, text: last.text + part.text };
    else all.push(part);
  }
  return all;
}

/** What a peer's parts have beyond ours, both merged; undefined if they do not begin with ours. */
export function beyond(ours: readonly Content[], theirs: readonly PeerPart[]): PeerPart[] | undefined {
  if (theirs.length < ours.length) return undefined;
  const contents = contentOf(theirs.slice(0, ours.length));
  const at = ours.findIndex((each, index) => !isSame(each, contents[index]));
  if (at === -1) return theirs.slice(ours.length);
  const [own, their] = [ours[at], theirs[at]];
  const isLonger =
    at === ours.length - 1 &&
    own?.kind === 'text' &&
    their?.kind === 'text' &&
    their.text.startsWith(own.text);
  if (!isLonger) return undefined;
  return [{ ...their, text: their.text.slice(own.text.length) }, ...theirs.slice(ours.length)];
}

function isSame(own: Content, their: Content | undefined): boolean {
  if (own.kind !== 'file' || their?.kind !== 'file') return isDeepStrictEqual(own, their);
  return own.base64 === undefined || their.base64 === undefined || own.base64 === their.base64;
}
