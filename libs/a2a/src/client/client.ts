import type { AgentCard } from '@a2a-js/sdk';
import {
  type Clock,
  HANDSHAKE_MEDIA_TYPE,
  type JsonObject,
  type JsonValue,
  type Log,
} from '@hermes-fleet/protocol';
import { type DiscoveredAgent, discoverAgent } from './discover.ts';
import { fetchCard, readCard } from './fetch-card.ts';
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
/** Enough to find the message that opened a task, which a long conversation pushes back. */
const HISTORY_LENGTH = 50;

export interface OutboundMessage {
  readonly messageId: string;
  readonly contextId?: string;
  readonly taskId?: string;
  readonly text?: string;
  /** A handshake message, as wire JSON. */
  readonly data?: JsonObject;
  /** Whether the peer is to answer only when the task has ended or waits for input. */
  readonly blocking: boolean;
}

/**
 * Speaks A2A 1.0 over JSON-RPC to peers. What the network does throws PEER_UNREACHABLE, what a peer answers but does
 * not do throws PEER_REFUSED (see peerErrorCode); an aborted `signal` throws its reason.
 */
export interface A2AClient {
  send(peer: PeerEndpoint, message: OutboundMessage, o: CallOptions): Promise<PeerReply>;
  /**
   * Sends a message and tells what becomes of it as it changes: a snapshot after every event. Ends with a message, or
   * with a task that is over or waits for its caller; throws PEER_UNREACHABLE where the stream ends before.
   */
  stream(peer: PeerEndpoint, message: OutboundMessage, o: WatchOptions): AsyncIterableIterator<PeerReply>;
  getTask(peer: PeerEndpoint, id: string, o: CallOptions): Promise<PeerTask>;
  /** The same, with the ids of the messages that its history shows. */
  inspectTask(peer: PeerEndpoint, id: string, o: CallOptions): Promise<ListedTask>;
  cancelTask(peer: PeerEndpoint, id: string, o: CallOptions): Promise<PeerTask>;
  /** The peer's tasks of one context, with their messages, as far as it tells; at most 500. */
  listTasks(peer: PeerEndpoint, contextId: string, o: CallOptions): Promise<ListedTask[]>;
  watch(peer: PeerEndpoint, id: string, o: WatchOptions): AsyncIterableIterator<PeerTask>;
  /** The agent card at this address, checked for what every card must have. */
  card(url: string, o: CallOptions): Promise<AgentCard>;
  /** The agent at a base url, or at the url of its card; one that speaks A2A 0.3 alone too. */
  discover(url: string, o: CallOptions): Promise<DiscoveredAgent>;
}

export function createA2AClient(deps: {
  clock: Clock;
  log: Log;
  /** Extension URIs that are asked for in `A2A-Extensions`. */
  extensions: readonly string[];
  /** How requests are sent, where not in the usual way: for agents that nobody vouches for. */
  request?: SendRequest;
}): A2AClient {
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
  const task = async (peer: PeerEndpoint, method: string, id: string, o: CallOptions): Promise<PeerTask> =>
    toPeerTask(await logged(peer.name, method, callPeer(deps, peer, method, { id }, TaskReply, o)));

  return {
    send: async (peer, message, o) => {
      const params = sendParams(message, deps.extensions);
      return toPeerReply(
        await logged(peer.name, 'SendMessage', callPeer(deps, peer, 'SendMessage', params, SendReply, o)),
      );
    },
    stream: (peer, message, o) => streamMessage(deps, peer, sendParams(message, deps.extensions), o),
    getTask: (peer, id, o) => task(peer, 'GetTask', id, o),
    inspectTask: async (peer, id, o) =>
      toListedTask(await logged(peer.name, 'GetTask', callPeer(deps, peer, 'GetTask', { id }, TaskReply, o))),
    cancelTask: (peer, id, o) => task(peer, 'CancelTask', id, o),
    listTasks: (peer, contextId, o) => logged(peer.name, 'ListTasks', listContext(deps, peer, contextId, o)),
    watch: (peer, id, o) => watchTask(deps, peer, id, o),
    card: (url, o) => logged(url, 'GET', fetchCard(deps, url, readCard, o)),
    discover: (url, o) => logged(url, 'GET', discoverAgent(deps, url, o)),
  };
}

function sendParams(message: OutboundMessage, extensions: readonly string[]): JsonObject {
  const { messageId, contextId, taskId, text, data, blocking } = message;
  const parts: JsonValue[] = [];
  if (data !== undefined) parts.push({ data, mediaType: HANDSHAKE_MEDIA_TYPE });
  if (text !== undefined) parts.push({ text, mediaType: 'text/plain' });
  return {
    message: {
      messageId,
      ...(contextId === undefined ? {} : { contextId }),
      ...(taskId === undefined ? {} : { taskId }),
      role: 'ROLE_USER',
      parts,
      ...(data === undefined ? {} : { extensions: [...extensions] }),
    },
    configuration: { returnImmediately: !blocking },
  };
}

/** Where an agent card says that A2A 1.x over JSON-RPC is served; undefined where it is not. */
export function jsonRpcUrl(card: Pick<AgentCard, 'supportedInterfaces'>): string | undefined {
  return card.supportedInterfaces.find(
    ({ protocolBinding, protocolVersion }) =>
      protocolBinding === 'JSONRPC' && protocolVersion.startsWith('1.'),
  )?.url;
}

/** The peer's tasks of a context, newest pages first, with the ids of the messages in their history; at most 500. */
async function listContext(
  deps: TransportDeps,
  peer: PeerEndpoint,
  contextId: string,
  o: CallOptions,
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
    const { tasks, nextPageToken } = await callPeer(deps, peer, 'ListTasks', params, ListReply, o);
    for (const task of tasks ?? []) if (task.contextId === contextId) listed.push(toListedTask(task));
    if (!nextPageToken) break;
    pageToken = nextPageToken;
  }
  return listed;
}
