import { Readable } from 'node:stream';
import { type A2AClient, connectionFault, connectionRefusal, type PeerEndpoint } from '@hermes-fleet/a2a';
import { readBounded } from '@hermes-fleet/net';
import { FleetError, isJsonObject, type JsonObject, parseJson } from '@hermes-fleet/protocol';
import { RESULT_TYPES, type ResultPart, resultUrl, SMALLER_PARTS } from '@hermes-fleet/protocol/api';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { pathProblem, reasonOf } from '../contexts/delete-at-peer.ts';

/** The most bytes that are passed on from a peer. */
const MAX_BYTES = 1024 ** 3;
/** How long a peer may take until its answer begins: it waits 30 s at most for the turn of this profile, and makes the part. */
const HEAD_MS = 90_000;
/** How long it may send nothing of its answer while that is read. */
const IDLE_MS = 60_000;
const MAX_ERROR_BYTES = 4 * 1024 * 1024;
const MAX_REASON = 300;

/** A part of a result on its way to a client, which reads or destroys it. */
export interface ResultStream {
  readonly content: Readable;
  /** Absent if the peer that sends it does not say. */
  readonly bytes: number | undefined;
}

export interface ResultAtPeerOptions {
  readonly endpoint: PeerEndpoint;
  /** The task's id at the peer. */
  readonly taskId: string;
  readonly part: ResultPart;
  /** Ends the request and the stream. */
  readonly signal: AbortSignal;
  /** Follows no redirect, because of the token. */
  readonly fetch: A2AClient['fetch'];
  readonly clock: Pick<Clock, 'timer'>;
  /** Default: 1 GiB. */
  readonly maxBytes?: number;
}

/**
 * Opens a part of a result at the peer that did the task, under the address of its routes (docs/operations.md#read-a-result). The stream
 * fails if it is not complete, or if the peer stops sending. Throws NO_RESULT with the peer's reason, which is the only text of the peer
 * in an error, ARTIFACT_TOO_LARGE, TOO_MANY_STREAMS, PEER_UNREACHABLE also for a peer that says nothing, PEER_REFUSED,
 * UNSUPPORTED_OPERATION for a peer without these routes, and the signal's reason.
 */
export async function resultAtPeer(options: ResultAtPeerOptions): Promise<ResultStream> {
  const { endpoint, taskId, part, fetch: send, clock, maxBytes = MAX_BYTES } = options;
  const { name } = endpoint;
  // URL parsers remove such a part of a path, and no file has such a name.
  const problem = pathProblem(taskId) ?? (part.kind === 'file' ? pathProblem(part.path) : undefined);
  if (problem)
    throw new FleetError('NO_RESULT', `${name} cannot be asked: the path or the task's id there ${problem}`);
  const url = new URL(resultUrl(taskId, part).slice(1), endpoint.url);
  const silent = new AbortController();
  const signal = AbortSignal.any([options.signal, silent.signal]);
  const within = (ms: number): Disposable =>
    clock.timer(() => silent.abort(unreachable(name, `has sent nothing for ${ms / 1_000} s`)), ms);
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
    throw unreachable(name, `does not answer (${reasonOf(error)})`);
  }
  if (refused) throw errorOf(name, part, response.status, refused);
  const { body } = response;
  const bytes = lengthOf(response);
  const isResult = response.headers.get('content-type') === RESULT_TYPES[part.kind];
  if (body && isResult && (bytes ?? 0) <= maxBytes) {
    const chunks = bounded(body, { name, part, maxBytes, awaitMore: () => within(IDLE_MS) });
    return { content: Readable.from(chunks, { objectMode: false }), bytes };
  }
  await body?.cancel();
  if (isResult) throw tooLarge(name, part);
  throw new FleetError('PEER_REFUSED', `${name} answers with something that is no result: check its address`);
}

/** The length of the content, unless it is another one than that of the answer. */
function lengthOf({ headers }: Response): number | undefined {
  const length = headers.get('content-length');
  return length === null || headers.has('content-encoding') ? undefined : Number(length);
}

interface Bounds {
  readonly name: string;
  readonly part: ResultPart;
  readonly maxBytes: number;
  /** Ends the body unless it is disposed in time. */
  readonly awaitMore: () => Disposable;
}

async function* bounded(
  body: AsyncIterable<Uint8Array>,
  { name, part, maxBytes, awaitMore }: Bounds,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  let waiting = awaitMore();
  try {
    for await (const chunk of body) {
      // A client that reads slowly is not the peer's silence.
      waiting[Symbol.dispose]();
      bytes += chunk.byteLength;
      if (bytes > maxBytes) throw tooLarge(name, part);
      yield chunk;
      waiting = awaitMore();
    }
  } catch (error) {
    throw error instanceof FleetError
      ? error
      : unreachable(name, `broke off its answer (${reasonOf(error)})`);
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

function errorOf(name: string, part: ResultPart, status: number, error: JsonObject): FleetError {
  const code = typeof error.code === 'string' && /^[A-Z_]{1,40}$/.test(error.code) ? error.code : '';
  const fault = connectionFault(connectionRefusal(code));
  if (fault) return unreachable(name, `cannot be reached: ${fault.what}: ${fault.remedy}`);
  if (code === 'PEER_UNREACHABLE') return unreachable(name, 'cannot reach the peer that did the work');
  if (code === 'NO_RESULT' || code === 'TASK_NOT_FOUND')
    return new FleetError('NO_RESULT', `${name} has no result of the task: ${reasonIn(error)}`);
  if (code === 'ARTIFACT_TOO_LARGE') return tooLarge(name, part);
  if (code === 'TOO_MANY_STREAMS')
    return new FleetError(
      code,
      `${name}, which did the task, sends this profile other results: ask again when they are read`,
      { retryAfterS: 5 },
    );
  const said = ['HTTP', status, code].filter((part) => part !== '').join(' ');
  if (status === 401 || status === 403)
    return new FleetError(
      'PEER_REFUSED',
      `${name} does not accept the token for it (${said}): check fleet.agents.${name}, and the scope read there`,
    );
  if (code === 'UNSUPPORTED_OPERATION' || [404, 405, 501].includes(status))
    return new FleetError(
      'UNSUPPORTED_OPERATION',
      `${name} or a peer of it serves no results (${said}): upgrade it, or take the branch of the task's context there`,
    );
  const retryable = [408, 429, 503, 504].includes(status);
  return new FleetError('PEER_REFUSED', `${name} does not send the result (${said})`, { retryable });
}

const unreachable = (name: string, why: string): FleetError =>
  new FleetError('PEER_UNREACHABLE', `${name}, which did the task, ${why}: ask again when it can be reached`);

const tooLarge = (name: string, { kind }: ResultPart): FleetError =>
  new FleetError(
    'ARTIFACT_TOO_LARGE',
    `the ${kind} at ${name}, which did the task, is too large to be read at once: ${SMALLER_PARTS[kind]}`,
  );

/** The reason that a peer gives, on one line. */
function reasonIn({ message }: JsonObject): string {
  const text = typeof message === 'string' ? message : 'it gives no reason';
  return text.replace(/[\p{C}\s]+/gu, ' ').slice(0, MAX_REASON);
}
