import { parseSseStream } from '@a2a-js/sdk';
import { type FleetError, isAsking, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { z } from 'zod';
import { createDeadline } from './deadline.ts';
import { invalidAnswer, peerErrorCode, unreachable } from './peer-errors.ts';
import {
  foldEvent,
  type PeerReply,
  type PeerTask,
  StreamReply,
  TaskReply,
  toPeerReply,
  toPeerTask,
  type WireTask,
} from './peer-task.ts';
import {
  callPeer,
  MAX_ANSWER_BYTES,
  type PeerEndpoint,
  post,
  type RpcCall,
  readResult,
  readText,
  type TransportDeps,
} from './transport.ts';

export interface WatchOptions {
  readonly signal: AbortSignal;
  /** The longest time without any bytes; heartbeats count as bytes. */
  readonly idleTimeoutMs: number;
  /** The W3C trace context for the peer to continue. */
  readonly traceparent?: string | undefined;
}

/** The most that one stream may add to a task; parts that are sent repeatedly count each time. */
const MAX_STREAM_CHARS = 4 * MAX_ANSWER_BYTES;
/** Fixed cost of an event, in characters. */
const PART_CHARS = 32;
/** Parts and artifacts per character of cost: each event copies all those that it adds to into the next snapshot. */
const COPIES_PER_CHAR = 16;

/**
 * Yields a snapshot of a peer's task after every event of its stream, the last one in a terminal state. Throws
 * PEER_UNREACHABLE when the stream ends earlier or is silent for too long. Watching again starts with the current task,
 * so no change is missed.
 */
export async function* watchTask(
  deps: TransportDeps,
  peer: PeerEndpoint,
  id: string,
  options: WatchOptions,
): AsyncGenerator<PeerTask, void, undefined> {
  const { signal, idleTimeoutMs, traceparent } = options;
  const call = streamCall(deps, peer, 'SubscribeToTask', { id }, options);
  try {
    for await (const { task, metadata } of eventsOf(deps, call, options)) {
      if (task === undefined) throw invalidAnswer(call, 'an update before the task');
      const snapshot = toPeerTask(task, metadata);
      yield snapshot;
      if (snapshot.terminal) return;
    }
  } catch (thrown) {
    // A2A offers no stream for a task that has ended.
    if (peerErrorCode(thrown) !== 'UNSUPPORTED_OPERATION') throw thrown;
    const call = { timeoutMs: idleTimeoutMs, signal, traceparent };
    yield toPeerTask(await callPeer(deps, peer, 'GetTask', { id }, TaskReply, call));
    return;
  }
  throw endedEarly(call);
}

/** Implements A2AClient.stream. */
export async function* streamMessage(
  deps: TransportDeps,
  peer: PeerEndpoint,
  params: JsonObject,
  options: WatchOptions,
): AsyncGenerator<PeerReply, void, undefined> {
  const call = streamCall(deps, peer, 'SendStreamingMessage', params, options);
  for await (const seen of eventsOf(deps, call, options)) {
    if (seen.task === undefined && seen.message === undefined)
      throw invalidAnswer(call, 'an update before the task');
    const reply = toPeerReply(seen, seen.metadata);
    yield reply;
    // A2A ends the stream of a task that asks, too.
    if (reply.kind === 'message' || reply.task.terminal || isAsking(reply.task.state)) return;
  }
  throw endedEarly(call);
}

const streamCall = (
  { tlsKeys }: TransportDeps,
  peer: PeerEndpoint,
  method: string,
  params: JsonObject,
  { traceparent }: WatchOptions,
): RpcCall => ({ ...peer, method, params, accept: 'text/event-stream', traceparent, tlsKeys });

const endedEarly = (call: RpcCall): FleetError => unreachable(call, new Error('the stream ended early'));

interface StreamState {
  readonly task?: WireTask;
  readonly message?: NonNullable<z.output<typeof StreamReply>['message']>;
  /** The metadata of the last event, if that was a status update. */
  readonly metadata?: JsonObject;
}

/** Yields the accumulated state after each event of a stream. */
async function* eventsOf(
  deps: TransportDeps,
  call: RpcCall,
  { signal, idleTimeoutMs }: WatchOptions,
): AsyncGenerator<StreamState, void, undefined> {
  using deadline = createDeadline(deps.clock, call, idleTimeoutMs, signal);
  const opened = await deadline.during(() => openStream(deps, call, deadline.signal));
  if (!(opened instanceof Response)) {
    yield nextState(undefined, opened);
    return;
  }
  const events = parseSseStream(watched(opened, deadline.touch), MAX_ANSWER_BYTES);
  let seen: StreamState = {};
  let chars = 0;
  try {
    for (;;) {
      const next = await deadline.during(() => events.next());
      if (next.done) return;
      const event = readEvent(call, next.value.data);
      chars += sizeOf(event) + copiedItems(seen.task, event) / COPIES_PER_CHAR;
      // The caller may watch again: a new stream starts with the whole task, which has its own limit.
      if (chars > MAX_STREAM_CHARS)
        throw unreachable(call, new Error('the stream holds more than a task may'));
      seen = nextState(seen.task, event);
      yield seen;
    }
  } finally {
    await events.return().catch(() => undefined);
  }
}

function nextState(known: WireTask | undefined, event: z.output<typeof StreamReply>): StreamState {
  const { message } = event;
  if (message !== undefined && known === undefined) return { message };
  const task = foldEvent(known, event);
  if (task === undefined) return {};
  const metadata = event.statusUpdate?.metadata;
  return isJsonObject(metadata) ? { task, metadata } : { task };
}

/** The open stream, or the single answer of a peer that does not stream. Throws PEER_REFUSED for anything else. */
async function openStream(
  deps: TransportDeps,
  call: RpcCall,
  signal: AbortSignal,
): Promise<Response | z.output<typeof StreamReply>> {
  const response = await post(deps, call, signal);
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
  if (response.status === 200 && isStream) return response;
  const answer = readResult(call, await readText(call, response), StreamReply);
  if (call.method === 'SendStreamingMessage' && (answer.task ?? answer.message) !== undefined) return answer;
  throw invalidAnswer(call, 'no stream');
}

/** Calls back for every chunk, because the SSE parser drops the comments that are heartbeats. */
function watched(response: Response, onChunk: () => void): Response {
  const touch = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      onChunk();
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body?.pipeThrough(touch));
}

/** The cost of an event's content, in characters. */
function sizeOf({ artifactUpdate }: z.output<typeof StreamReply>): number {
  const parts = artifactUpdate?.artifact.parts ?? [];
  return parts.reduce(
    (sum, { text, data, raw }) =>
      sum + (text ?? raw ?? (data === undefined ? '' : JSON.stringify(data))).length,
    PART_CHARS,
  );
}

/** The number of parts and artifacts that applying an event copies. */
function copiedItems(task: WireTask | undefined, { artifactUpdate }: z.output<typeof StreamReply>): number {
  if (artifactUpdate === undefined) return 0;
  const { artifactId } = artifactUpdate.artifact;
  const artifacts = task?.artifacts ?? [];
  const known = artifacts.find((artifact) => artifact.artifactId === artifactId);
  return artifacts.length + (known?.parts?.length ?? 0);
}

const readEvent = (call: RpcCall, text: string) =>
  readResult(call, { status: 200, text, retryAfter: null }, StreamReply);
