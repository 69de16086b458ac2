import { Readable } from 'node:stream';
import type { A2AClient, PeerEndpoint } from '@hermes-fleet/a2a';
import { readBounded } from '@hermes-fleet/net';
import { FleetError, isJsonObject, type JsonObject, parseJson } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { reasonOf } from '../contexts/delete-at-peer.ts';

/** The most bytes that are taken from a peer. */
const MAX_BYTES = 1024 ** 3;
/** How long a peer may take until its answer begins: it waits 30 s at most for the turn of this profile, and makes the content. */
const HEAD_MS = 90_000;
/** How long it may send nothing of its answer while that is read. */
const IDLE_MS = 60_000;
const MAX_ERROR_BYTES = 4 * 1024 * 1024;
const MAX_REASON = 300;

/** A content on its way to a client, which reads or destroys it. */
export interface ContentStream {
  readonly content: Readable;
  /** Absent if the peer that sends it does not say. */
  readonly bytes: number | undefined;
}

/** How the peer is asked. */
export interface AskingPeer {
  readonly endpoint: PeerEndpoint;
  /** Ends the request and the stream. */
  readonly signal: AbortSignal;
  /** Follows no redirect, because of the token. */
  readonly fetch: A2AClient['fetch'];
  readonly clock: Pick<Clock, 'timer'>;
  /** Default: 1 GiB. */
  readonly maxBytes?: number;
}

/** The errors of a content, in its words. */
export interface ContentErrors {
  /** `why` goes on after the name of the peer. */
  unreachable(why: string): FleetError;
  tooLarge(): FleetError;
  /** For an answer with another status than 200; `error` is empty for an answer in another form. */
  refused(status: number, code: string, error: JsonObject): FleetError;
}

/**
 * Opens a content at a peer, under the address of its routes; `path` is relative to it. The stream fails if it is not complete, or if
 * the peer stops sending. Throws `errors`, PEER_REFUSED for an answer of another type, and the signal's reason.
 */
export async function contentAtPeer(
  path: string,
  type: string,
  { endpoint, fetch: send, clock, maxBytes = MAX_BYTES, ...asking }: AskingPeer,
  errors: ContentErrors,
): Promise<ContentStream> {
  const url = new URL(path, endpoint.url);
  const silent = new AbortController();
  const signal = AbortSignal.any([asking.signal, silent.signal]);
  const within = (ms: number): Disposable =>
    clock.timer(() => silent.abort(errors.unreachable(`has sent nothing for ${ms / 1_000} s`)), ms);
  let response: Response;
  let refused: JsonObject | undefined;
  try {
    using _deadline = within(HEAD_MS);
    response = await send(url.href, {
      headers: {
        accept: '*/*',
        ...(endpoint.token === undefined ? {} : { authorization: `Bearer ${endpoint.token}` }),
      },
      signal,
    });
    if (response.status !== 200) refused = await errorIn(response);
  } catch (error) {
    signal.throwIfAborted();
    throw errors.unreachable(`does not answer (${reasonOf(error)})`);
  }
  if (refused) {
    const { code } = refused;
    const known = typeof code === 'string' && /^[A-Z_]{1,40}$/.test(code) ? code : '';
    throw errors.refused(response.status, known, refused);
  }
  const { body } = response;
  const bytes = lengthOf(response);
  const isContent = response.headers.get('content-type') === type;
  if (body && isContent && (bytes ?? 0) <= maxBytes) {
    const chunks = bounded(body, { maxBytes, errors, awaitMore: () => within(IDLE_MS) });
    return { content: Readable.from(chunks, { objectMode: false }), bytes };
  }
  await body?.cancel();
  if (isContent) throw errors.tooLarge();
  throw new FleetError(
    'PEER_REFUSED',
    `${endpoint.name} answers with something that is no result: check its address`,
  );
}

/** The length of the content, unless it is another one than that of the answer. */
function lengthOf({ headers }: Response): number | undefined {
  const length = headers.get('content-length');
  return length === null || headers.has('content-encoding') ? undefined : Number(length);
}

interface Bounds {
  readonly maxBytes: number;
  readonly errors: ContentErrors;
  /** Ends the body unless it is disposed in time. */
  readonly awaitMore: () => Disposable;
}

async function* bounded(
  body: AsyncIterable<Uint8Array>,
  { maxBytes, errors, awaitMore }: Bounds,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  let waiting = awaitMore();
  try {
    for await (const chunk of body) {
      // A client that reads slowly is not the peer's silence.
      waiting[Symbol.dispose]();
      bytes += chunk.byteLength;
      if (bytes > maxBytes) throw errors.tooLarge();
      yield chunk;
      waiting = awaitMore();
    }
  } catch (error) {
    throw error instanceof FleetError
      ? error
      : errors.unreachable(`broke off its answer (${reasonOf(error)})`);
  } finally {
    waiting[Symbol.dispose]();
  }
}

/** The error in an answer; empty for an answer in another form. */
async function errorIn(response: Response): Promise<JsonObject> {
  const tooLong = (): Error => new Error('an error of more than 4 MiB');
  const body = parseJson(await readBounded(response, MAX_ERROR_BYTES, tooLong));
  return isJsonObject(body) && isJsonObject(body.error) ? body.error : {};
}

/** The reason that a peer gives, on one line. */
export function reasonIn({ message }: JsonObject): string {
  const text = typeof message === 'string' ? message : 'it gives no reason';
  return text.replace(/[\p{C}\s]+/gu, ' ').slice(0, MAX_REASON);
}
