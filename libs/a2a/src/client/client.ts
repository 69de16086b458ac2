import { AgentCard } from '@a2a-js/sdk';
import {
  type Clock,
  HANDSHAKE_MEDIA_TYPE,
  type JsonObject,
  type JsonValue,
  type Log,
} from '@hermes-fleet/protocol';
import { z } from 'zod';
import { createDeadline } from './deadline.ts';
import { listContext } from './list-context.ts';
import { nonsenseFrom, refusedBy } from './peer-errors.ts';
import {
  type ListedTask,
  type PeerReply,
  type PeerTask,
  SendReply,
  TaskReply,
  toPeerReply,
  toPeerTask,
} from './peer-task.ts';
import { attempt, type CallOptions, callPeer, type PeerEndpoint, readBounded } from './transport.ts';
import { type WatchOptions, watchTask } from './watch-task.ts';

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
  getTask(peer: PeerEndpoint, id: string, o: CallOptions): Promise<PeerTask>;
  cancelTask(peer: PeerEndpoint, id: string, o: CallOptions): Promise<PeerTask>;
  /** The peer's tasks of one context, with their messages, as far as it tells; at most 500. */
  listTasks(peer: PeerEndpoint, contextId: string, o: CallOptions): Promise<ListedTask[]>;
  watch(peer: PeerEndpoint, id: string, o: WatchOptions): AsyncIterableIterator<PeerTask>;
  /** The agent card at this address, checked for what every card must have. */
  card(url: string, o: CallOptions): Promise<AgentCard>;
}

export function createA2AClient(deps: {
  clock: Clock;
  log: Log;
  /** Extension URIs that are asked for in `A2A-Extensions`. */
  extensions: readonly string[];
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
    getTask: (peer, id, o) => task(peer, 'GetTask', id, o),
    cancelTask: (peer, id, o) => task(peer, 'CancelTask', id, o),
    listTasks: (peer, contextId, o) => logged(peer.name, 'ListTasks', listContext(deps, peer, contextId, o)),
    watch: (peer, id, o) => watchTask(deps, peer, id, o),
    card: (url, o) => logged(url, 'GET', fetchCard(deps.clock, url, o)),
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

const Card = z.looseObject({
  name: z.string().min(1),
  supportedInterfaces: z.array(
    z.looseObject({
      url: z.url({ protocol: /^https?$/ }),
      protocolBinding: z.string(),
      protocolVersion: z.string(),
    }),
  ),
});

async function fetchCard(clock: Clock, url: string, o: CallOptions): Promise<AgentCard> {
  const { timeoutMs, signal } = o;
  const name = new URL(url).host;
  const method = 'its agent card';
  using deadline = createDeadline(clock, timeoutMs, signal);
  return await attempt({ name, method, timeoutMs, deadline, signal }, async () => {
    const response = await fetch(url, {
      redirect: 'manual',
      signal: deadline.signal,
      headers: { accept: 'application/json', 'a2a-version': '1.0' },
    });
    const text = await readBounded(response, () => nonsenseFrom(name, method, 'more than 4 MiB'));
    if (response.status !== 200) {
      const retryAfter = response.headers.get('retry-after');
      throw refusedBy({ peer: name, method, status: response.status, retryAfter, error: undefined });
    }
    const card = parseCard(text);
    if (card === undefined) throw nonsenseFrom(name, method, 'something that is no agent card of A2A 1.0');
    return card;
  });
}

function parseCard(text: string): AgentCard | undefined {
  try {
    return AgentCard.fromJSON(Card.parse(JSON.parse(text)));
  } catch {
    return undefined;
  }
}

/** Where an agent card says that A2A 1.x over JSON-RPC is served; undefined where it is not. */
export function jsonRpcUrl(card: Pick<AgentCard, 'supportedInterfaces'>): string | undefined {
  return card.supportedInterfaces.find(
    ({ protocolBinding, protocolVersion }) =>
      protocolBinding === 'JSONRPC' && protocolVersion.startsWith('1.'),
  )?.url;
}
