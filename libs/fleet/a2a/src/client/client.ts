import type { AgentCard } from '@a2a-js/sdk';
import { createClient, createTextExchange, type TlsFetch } from '@hermes-fleet/net';
import type { TlsKeys, TlsSource } from '@hermes-fleet/net/tls';
import { definedFields, HANDSHAKE_MEDIA_TYPE, type JsonObject } from '@hermes-fleet/protocol';
import { type Clock, encodePart, type Log, type MessagePart } from '@hermes-fleet/protocol/ports';
import type { z } from 'zod';
import { type DiscoveredAgent, discoverAgent } from './discover.ts';
import { fetchCard, readCard } from './fetch-card.ts';
import { fetchFile } from './fetch-file.ts';
import {
  type ListedTask,
  ListReply,
  type PeerReply,
  type PeerTask,
  SendReply,
  TaskReply,
  toListedTask,
  toPeerReply,
  toPeerTask,
} from './peer-task.ts';
import {
  type CallOptions,
  callPeer,
  type PeerEndpoint,
  type SendRequest,
  type TransportDeps,
} from './transport.ts';
import { streamMessage, type WatchOptions, watchTask } from './watch-task.ts';

const PAGE_SIZE = 100;
const MAX_PAGES = 5;
/** Enough to find the message that created a task, which a long conversation pushes back. */
const HISTORY_LENGTH = 50;

export interface OutboundMessage {
  readonly messageId: string;
  readonly contextId?: string | undefined;
  readonly taskId?: string | undefined;
  readonly text?: string;
  /** A handshake message, as wire JSON. */
  readonly data?: JsonObject;
  /** Data and files, after the handshake message and the text. */
  readonly parts?: readonly MessagePart[];
  /** True: the peer answers only when the task has ended or waits for input. */
  readonly blocking: boolean;
}

/**
 * Calls peers by A2A 1.0 over JSON-RPC. Throws PEER_UNREACHABLE for network failures, PEER_REFUSED for error answers and
 * invalid ones (see peerErrorCode), and the reason of an aborted `signal`.
 */
export interface A2AClient {
  send(peer: PeerEndpoint, message: OutboundMessage, options: CallOptions): Promise<PeerReply>;
  /**
   * Sends a message and yields a snapshot of its task after every event. Ends with a message, or with a task that has
   * ended or waits for its caller; throws PEER_UNREACHABLE when the stream ends earlier.
   */
  stream(
    peer: PeerEndpoint,
    message: OutboundMessage,
    options: WatchOptions,
  ): AsyncIterableIterator<PeerReply>;
  getTask(peer: PeerEndpoint, id: string, options: CallOptions): Promise<PeerTask>;
  /** As getTask, with the ids of the messages in the task's history. */
  inspectTask(peer: PeerEndpoint, id: string, options: CallOptions): Promise<ListedTask>;
  cancelTask(peer: PeerEndpoint, id: string, options: CallOptions): Promise<PeerTask>;
  /** The peer's tasks of one context, with the ids of the messages in their history; at most 500. */
  listTasks(peer: PeerEndpoint, contextId: string, options: CallOptions): Promise<ListedTask[]>;
  watch(peer: PeerEndpoint, id: string, options: WatchOptions): AsyncIterableIterator<PeerTask>;
  /**
   * The content of a file to which the peer refers; ARTIFACT_TOO_LARGE beyond `maxBytes`. The peer's token goes to its own
   * address only: any other is PEER_REFUSED.
   */
  file(
    peer: PeerEndpoint,
    url: string,
    options: CallOptions & { readonly maxBytes: number },
  ): Promise<Buffer>;
  /** The A2A 1.0 agent card at this URL, checked for the fields that every card must have. */
  card(url: string, options: CallOptions): Promise<AgentCard>;
  /** A request beside A2A to the address of a peer. Redirects are not followed; rejects with network errors. */
  fetch: TlsFetch;
  /** The agent at a base URL or at the URL of its card, A2A 1.0 or 0.3. */
  discover(url: string, options: CallOptions): Promise<DiscoveredAgent>;
}

export function createA2AClient(options: {
  clock: Clock;
  log: Log;
  /** Extension URIs to request in `A2A-Extensions`. */
  extensions: readonly string[];
  /** Replaces fetch, for example to guard requests to untrusted agents. */
  request?: SendRequest;
  /** The issuers to trust and the certificate to show, for https; default: what Node trusts, and none. */
  tls?: TlsSource | undefined;
  /** Where these are configured, for messages; default: fleet.yaml. */
  tlsKeys?: TlsKeys;
}): A2AClient {
  const deps = {
    ...options,
    exchange: createTextExchange(options.tls),
    // A redirect is never followed, because of the token; as an error it would look like a network failure.
    fetch: createClient('configured', { tls: options.tls, redirects: 'returned' }),
  };
  const logged = async <T>(peer: string, method: string, work: Promise<T>): Promise<T> => {
    const startedAt = deps.clock.now();
    try {
      return await work;
    } catch (err) {
      deps.log.debug(
        { peer, method, duration_ms: deps.clock.now() - startedAt, err },
        'call to a peer failed',
      );
      throw err;
    }
  };
  const call = <S extends z.ZodType>(
    peer: PeerEndpoint,
    method: string,
    params: JsonObject,
    schema: S,
    options: CallOptions,
  ) => logged(peer.name, method, callPeer(deps, peer, method, params, schema, options));
  const task = (peer: PeerEndpoint, method: string, id: string, options: CallOptions) =>
    call(peer, method, { id }, TaskReply, options);

  return {
    send: async (peer, message, options) =>
      toPeerReply(await call(peer, 'SendMessage', sendParams(message, deps.extensions), SendReply, options)),
    stream: (peer, message, options) =>
      streamMessage(deps, peer, sendParams(message, deps.extensions), options),
    getTask: async (peer, id, options) => toPeerTask(await task(peer, 'GetTask', id, options)),
    inspectTask: async (peer, id, options) => toListedTask(await task(peer, 'GetTask', id, options)),
    cancelTask: async (peer, id, options) => toPeerTask(await task(peer, 'CancelTask', id, options)),
    listTasks: (peer, contextId, options) =>
      logged(peer.name, 'ListTasks', listContext(deps, peer, contextId, options)),
    watch: (peer, id, options) => watchTask(deps, peer, id, options),
    file: (peer, url, options) => logged(peer.name, 'GET', fetchFile(deps, peer, url, options)),
    fetch: deps.fetch,
    card: (url, options) => logged(url, 'GET', fetchCard(deps, url, readCard, options)),
    discover: (url, options) => logged(url, 'GET', discoverAgent(deps, url, options)),
  };
}

function sendParams(message: OutboundMessage, extensions: readonly string[]): JsonObject {
  const { messageId, contextId, taskId, text, data, parts = [], blocking } = message;
  return {
    message: {
      messageId,
      ...definedFields({ contextId, taskId }),
      role: 'ROLE_USER',
      parts: [
        ...(data === undefined ? [] : [{ data, mediaType: HANDSHAKE_MEDIA_TYPE }]),
        ...(text === undefined ? [] : [{ text, mediaType: 'text/plain' }]),
        ...parts.map(encodePart),
      ],
      ...(data === undefined ? {} : { extensions: [...extensions] }),
    },
    configuration: { returnImmediately: !blocking },
  };
}

/** The URL at which an agent card offers A2A 1.x over JSON-RPC; undefined when it offers none. */
export function jsonRpcUrl(card: Pick<AgentCard, 'supportedInterfaces'>): string | undefined {
  return card.supportedInterfaces.find(
    ({ protocolBinding, protocolVersion }) =>
      protocolBinding === 'JSONRPC' && protocolVersion.startsWith('1.'),
  )?.url;
}

/** Reads the newest pages of ListTasks. */
async function listContext(
  deps: TransportDeps,
  peer: PeerEndpoint,
  contextId: string,
  options: CallOptions,
): Promise<ListedTask[]> {
  const listed: ListedTask[] = [];
  let pageToken = '';
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const params = {
      contextId,
      pageSize: PAGE_SIZE,
      historyLength: HISTORY_LENGTH,
      ...(pageToken === '' ? {} : { pageToken }),
    };
    const { tasks, nextPageToken } = await callPeer(deps, peer, 'ListTasks', params, ListReply, options);
    for (const task of tasks ?? []) if (task.contextId === contextId) listed.push(toListedTask(task));
    if (!nextPageToken) break;
    pageToken = nextPageToken;
  }
  return listed;
}
