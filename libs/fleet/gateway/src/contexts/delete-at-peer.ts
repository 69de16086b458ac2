import { type A2AClient, connectionFault, connectionRefusal, type PeerEndpoint } from '@hermes-fleet/a2a';
import { isPeerName } from '@hermes-fleet/fleet-config';
import type { PeerDeletion, ResultsMode } from '@hermes-fleet/ledger';
import { readBounded } from '@hermes-fleet/net';
import { FleetError, fieldPath, isJsonObject, type JsonObject, parseJson } from '@hermes-fleet/protocol';
import { z } from 'zod';

/** How many peers of a peer, and how many invalid fields, the detail of an answer names. */
const MAX_NAMED = 10;
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/** The fields of a peer's answer that the sender reads (docs/operations.md#delete-a-context). */
const Answer = z.object({
  result: z.string(),
  peers: z.array(
    z.object({ peer: z.string(), state: z.enum(['pending', 'deleted', 'unsupported', 'refused']) }),
  ),
});

export type PeerDeletionOutcome = Pick<PeerDeletion, 'state' | 'detail'>;

export interface DeleteAtPeerOptions {
  readonly endpoint: PeerEndpoint;
  /** The context's id at the peer. */
  readonly contextId: string;
  readonly results: ResultsMode;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Follows no redirect, because of the token. */
  readonly fetch: A2AClient['fetch'];
}

/**
 * Asks a peer to delete a context (docs/handshake.md#deleting-a-context). The outcome is `pending` where another try may
 * help: no answer, unfinished tasks there, or a deletion that the peer has begun and not completed. A peer that knows no such
 * context has deleted it. An id that no URL can have is `unsupported`, and the peer is not asked. The detail never contains
 * text of the peer, except names that a configuration could have. Throws the signal's reason.
 */
export async function deleteAtPeer(options: DeleteAtPeerOptions): Promise<PeerDeletionOutcome> {
  const { endpoint, contextId, results, timeoutMs, signal, fetch: send } = options;
  if (endpoint.version === '0.3') return unsupported(options, 'speaks A2A 0.3');
  const problem = pathProblem(contextId);
  if (problem) {
    const detail = `${endpoint.name} cannot be asked: the context's ID ${problem}; have its operator remove the context`;
    return { state: 'unsupported', detail };
  }
  const url = new URL(`fleet/contexts/${encodeURIComponent(contextId)}?results=${results}`, endpoint.url);
  try {
    const response = await send(url.href, {
      method: 'DELETE',
      headers: {
        accept: 'application/json',
        ...(endpoint.token === undefined ? {} : { authorization: `Bearer ${endpoint.token}` }),
      },
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    const body = await readJson(response, endpoint.name);
    return outcomeOf(options, response.status, body);
  } catch (error) {
    signal.throwIfAborted();
    return pending(`${endpoint.name} does not answer (${reasonOf(error)})`);
  }
}

function outcomeOf(options: DeleteAtPeerOptions, status: number, body: JsonObject): PeerDeletionOutcome {
  const { name } = options.endpoint;
  const error = isJsonObject(body.error) ? body.error : {};
  const code = typeof error.code === 'string' && /^[A-Z_]{1,40}$/.test(error.code) ? error.code : '';
  if (status === 200 && body.context_id === options.contextId) return stateIn(name, body);
  // A 404 of a peer without this route, or of a proxy, has another code or none.
  if (status === 404 && code === 'TASK_NOT_FOUND') return { state: 'deleted' };
  const fault = connectionFault(connectionRefusal(code));
  if (fault) return pending(`${name} cannot be reached: ${fault.what}: ${fault.remedy}`);
  if (code === 'CONTEXT_IN_USE') return pending(`${name} has unfinished tasks in it`);
  if (code === 'CONTEXT_SHARED') return refused(`${name} has or had tasks of another caller in it`);
  if (status === 401 || status === 403)
    return refused(
      `${name} does not accept the token for it (HTTP ${status}): check fleet.agents.${name}, and the scope dispatch there`,
    );
  if (status === 408 || status === 429 || (status >= 500 && status !== 501))
    return pending(`${name} cannot do it now (HTTP ${status})`);
  if (status < 400 || status === 404 || status === 405 || status === 501)
    return unsupported(options, `answers HTTP ${status}`);
  return refused(`${name} refuses it (${[`HTTP ${status}`, code].filter(Boolean).join(', ')})`);
}

const pending = (detail: string): PeerDeletionOutcome => ({ state: 'pending', detail });
const refused = (detail: string): PeerDeletionOutcome => ({ state: 'refused', detail });

/** The peer passes the deletion on itself; what it has not deleted is named, or counted if its name is none. */
function stateIn(name: string, body: JsonObject): PeerDeletionOutcome {
  const answer = Answer.safeParse(body);
  if (!answer.success) {
    const fields = [...new Set(answer.error.issues.map(({ path }) => fieldPath(path)))].slice(0, MAX_NAMED);
    return refused(
      `${name} answers with a state that is not valid (${fields.join(', ')}): have its operator look at it`,
    );
  }
  const { result, peers } = answer.data;
  const open = peers.filter(({ state }) => state !== 'deleted');
  const named = open.filter(({ peer }) => isPeerName(peer)).slice(0, MAX_NAMED);
  const left = [
    ...(result === 'pending' ? ['its files pending'] : []),
    ...named.map(({ peer, state }) => `${peer} ${state}`),
    ...(open.length > named.length ? [`${open.length - named.length} more not deleted`] : []),
  ];
  const isPending = result === 'pending' || open.some(({ state }) => state === 'pending');
  const state = isPending ? 'pending' : 'deleted';
  return left.length === 0 ? { state } : { state, detail: `at ${name}: ${left.join(', ')}` };
}

function unsupported(
  { endpoint: { name }, contextId }: DeleteAtPeerOptions,
  why: string,
): PeerDeletionOutcome {
  const detail = `${name} ${why}, it cannot delete contexts over HTTP: upgrade it, or have its operator delete context ${contextId}`;
  return { state: 'unsupported', detail };
}

async function readJson(response: Response, name: string): Promise<JsonObject> {
  const text = await readBounded(
    response,
    MAX_ANSWER_BYTES,
    () => new FleetError('PEER_REFUSED', `${name} answered with more than 4 MiB`),
  );
  const body = parseJson(text);
  return isJsonObject(body) ? body : {};
}

/** Why a request got no answer: a fault of the connection with its remedy, a system's error code, or the name of the error. */
export function reasonOf(thrown: unknown): string {
  const fault = connectionFault(thrown);
  if (fault) return `${fault.what}: ${fault.remedy}`;
  for (let error = thrown; error instanceof Error; error = error.cause)
    if ('code' in error && typeof error.code === 'string') return error.code;
  return thrown instanceof Error ? thrown.name : 'error';
}

/**
 * The reason why no URL can have this context ID as the last part of `fleet/contexts/<id>`; undefined if one can. URL
 * parsers remove the parts `.` and `..`, percent-encoded too (https://url.spec.whatwg.org/#double-dot-path-segment).
 */
export function pathProblem(contextId: string): string | undefined {
  if (contextId === '') return 'is empty';
  if (contextId === '.' || contextId === '..') return `is "${contextId}", which no URL can name`;
  if (!contextId.isWellFormed()) return 'is not valid Unicode';
  return undefined;
}
