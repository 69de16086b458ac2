import { parseSseStream } from '@a2a-js/sdk';
import type { z } from 'zod';
import { createDeadline } from './deadline.ts';
import { nonsenseFrom, peerErrorCode, unreachable } from './peer-errors.ts';
import { foldEvent, type PeerTask, StreamReply, TaskReply, toPeerTask, type WireTask } from './peer-task.ts';
import {
  attempt,
  callPeer,
  MAX_ANSWER_BYTES,
  type PeerEndpoint,
  post,
  type RpcCall,
  readAnswer,
  readResult,
  type TransportDeps,
} from './transport.ts';

export interface WatchOptions {
  readonly signal: AbortSignal;
  /** The longest silence, heartbeats included. */
  readonly idleTimeoutMs: number;
  /** The W3C trace context that the peer is to continue. */
  readonly traceparent?: string | undefined;
}

const METHOD = 'SubscribeToTask';
/** What a stream may add to a task before it is begun anew; parts that are told again and again count each time. */
const MAX_STREAM_CHARS = 4 * MAX_ANSWER_BYTES;
/** What an event counts beside its content. */
const PART_CHARS = 32;

/**
 * A peer's task as it changes, from its stream: a snapshot after every event, the last one in a terminal state. Throws
 * PEER_UNREACHABLE when the stream ends before, or is silent for too long; watching again starts with the task as it
 * is then, so nothing is missed.
 */
export async function* watchTask(
  deps: TransportDeps,
  peer: PeerEndpoint,
  id: string,
  { signal, idleTimeoutMs, traceparent }: WatchOptions,
): AsyncGenerator<PeerTask, void, undefined> {
  using deadline = createDeadline(deps.clock, idleTimeoutMs, signal);
  const call: RpcCall = { peer, method: METHOD, params: { id }, accept: 'text/event-stream', traceparent };
  const context = { name: peer.name, method: METHOD, timeoutMs: idleTimeoutMs, deadline, signal };
  const opened = await attempt(context, () => open(deps, call, deadline.signal));
  if (opened === 'ended') {
    const task = await callPeer(deps, peer, 'GetTask', { id }, TaskReply, {
      timeoutMs: idleTimeoutMs,
      signal,
      traceparent,
    });
    yield toPeerTask(task);
    return;
  }
  const events = parseSseStream(watched(opened, deadline.touch), MAX_ANSWER_BYTES);
  let task: WireTask | undefined;
  let chars = 0;
  try {
    for (;;) {
      const next = await attempt(context, () => events.next());
      if (next.done) throw unreachable(peer.name, METHOD, new Error('the stream ended early'));
      const event = readEvent(call, next.value.data);
      chars += contentOf(event);
      // A new stream starts with the task in one piece, which has a bound of its own.
      if (chars > MAX_STREAM_CHARS)
        throw unreachable(peer.name, METHOD, new Error('the stream holds more than a task may'));
      task = foldEvent(task, event);
      if (task === undefined) throw nonsenseFrom(peer.name, METHOD, 'an update before the task');
      const snapshot = toPeerTask(task);
      yield snapshot;
      if (snapshot.terminal) return;
    }
  } finally {
    await events.return().catch(() => undefined);
  }
}

/** The open stream, or `ended` where the peer says that the task is over: A2A has no stream for such a task. */
async function open(deps: TransportDeps, call: RpcCall, signal: AbortSignal): Promise<Response | 'ended'> {
  const response = await post(deps, call, signal);
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
  if (response.status === 200 && isStream) return response;
  try {
    readResult(call, response.status, await readAnswer(call, response), StreamReply);
  } catch (thrown) {
    if (peerErrorCode(thrown) === 'UNSUPPORTED_OPERATION') return 'ended';
    throw thrown;
  }
  throw nonsenseFrom(call.peer.name, METHOD, 'no stream');
}

/** The same response, telling about every chunk: heartbeats are comments, which the parser drops. */
function watched(response: Response, onChunk: () => void): Response {
  const touch = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      onChunk();
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body?.pipeThrough(touch));
}

/** How much of a task an event of its stream holds, in characters. */
function contentOf({ artifactUpdate }: z.output<typeof StreamReply>): number {
  const parts = artifactUpdate?.artifact.parts ?? [];
  return parts.reduce(
    (sum, { text, data }) => sum + (text ?? (data === undefined ? '' : JSON.stringify(data))).length,
    PART_CHARS,
  );
}

function readEvent(call: RpcCall, data: string) {
  let body: unknown;
  try {
    body = JSON.parse(data);
  } catch {
    throw nonsenseFrom(call.peer.name, METHOD, 'an event that is not JSON');
  }
  return readResult(call, 200, { body, retryAfter: null }, StreamReply);
}
