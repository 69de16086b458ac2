import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type ArtifactPart, MAX_ARTIFACT_NAME } from '@hermes-fleet/protocol/ports';

interface Labels {
  readonly name?: string | undefined;
  readonly mediaType?: string | undefined;
}

/** The part of an artifact at a peer, or of ours, in the form in which the two are compared. */
export type Content = Labels &
  (
    | { readonly kind: 'text'; readonly text: string }
    | { readonly kind: 'data'; readonly data: unknown }
    | { readonly kind: 'file'; readonly digest: string }
    | { readonly kind: 'link'; readonly url: string }
  );

/** A part that is stored here. */
export const contentOf = (part: ArtifactPart): Content =>
  part.kind === 'file' ? { kind: 'file', digest: digestOf(part.base64), ...labelsOf(part) } : part;

/** The labels of a part, as far as they are stored. */
export function labelsOf({ mediaType, ...part }: { mediaType?: string; name?: string }): Labels {
  return {
    ...(mediaType === undefined ? {} : { mediaType: short(mediaType) }),
    ...(part.name === undefined ? {} : { name: short(part.name) }),
  };
}

export const short = (text: string): string => text.slice(0, MAX_ARTIFACT_NAME);

/** Identifies the bytes of a file. */
export function digestOf(base64: string): string {
  return createHash('sha256').update(base64, 'base64').digest('hex');
}

/**
 * Parts with neighboring texts of one media type joined: an agent and its client may cut a text at different places. It is for
 * comparing only, because two parts of one chunk are two parts.
 */
export function merged(parts: readonly Content[]): Content[] {
  const all: Content[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    if (last?.kind === 'text' && part.kind === 'text' && goesOn(last, part))
      all[all.length - 1] = { ...last, text: last.text + part.text };
    else all.push(part);
  }
  return all;
}

/** What a peer's parts have beyond ours, in the peer's cuts; undefined if they do not begin with ours, which are merged. */
export function beyond<P extends Content>(ours: readonly Content[], theirs: readonly P[]): P[] | undefined {
  let at = 0;
  let read = 0;
  for (const [index, their] of theirs.entries()) {
    if (their.kind === 'text' && their.text === '' && goesOn(theirs[index - 1], their)) continue;
    const own = ours[at];
    if (own === undefined) return theirs.slice(index);
    if (own.kind === 'text' && their.kind === 'text' && goesOn(own, their)) {
      const rest = own.text.slice(read);
      if (rest.startsWith(their.text)) read += their.text.length;
      else if (at === ours.length - 1 && their.text.startsWith(rest))
        return [{ ...their, text: their.text.slice(rest.length) }, ...theirs.slice(index + 1)];
      else return undefined;
      if (read < own.text.length) continue;
    } else if (!isSame(own, their)) return undefined;
    at += 1;
    read = 0;
  }
  return at === ours.length ? [] : undefined;
}

/** True if both are texts of one media type. */
function goesOn(one: Content | undefined, next: Content): boolean {
  return one?.kind === 'text' && next.kind === 'text' && one.mediaType === next.mediaType;
}

function isSame(own: Content, their: Content): boolean {
  if (own.mediaType !== their.mediaType || own.name !== their.name) return false;
  if (own.kind === 'data' && their.kind === 'data') return isDeepStrictEqual(own.data, their.data);
  if (own.kind === 'file' && their.kind === 'file') return own.digest === their.digest;
  return own.kind === 'link' && their.kind === 'link' && own.url === their.url;
}
