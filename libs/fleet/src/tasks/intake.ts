import type { Ledger } from '@hermes-fleet/ledger';
import {
  type Accepted,
  type Caller,
  type Clock,
  decodeAnnounce,
  dispatchFingerprint,
  encodeAnnounce,
  FleetError,
  HANDSHAKE_MEDIA_TYPE,
  type Ids,
  type InboundMessage,
  isJsonObject,
  type JsonObject,
  type Log,
  PROTOCOL_VERSION,
  type SessionAnnounce,
} from '@hermes-fleet/protocol';
import { type FleetMetrics, requireScope } from '@hermes-fleet/service';
import type { Peers } from '../peers/peers.ts';
import type { Dispatcher } from './dispatcher.ts';
import { parseHints } from './hints.ts';
import { readDispatch } from './reading.ts';

const HANDSHAKE_CONTEXT = 'handshake:';
const HANDSHAKE_TYPES = new Set(['SESSION_ANNOUNCE', 'TASK_DISPATCH', 'TASK_RESULT']);

export interface IntakeOptions {
  readonly profile: string;
  /** The handshake versions that this profile speaks. */
  readonly versions: readonly string[];
  readonly ledger: Ledger;
  readonly peers: Peers;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly metrics: FleetMetrics;
  readonly announce: () => SessionAnnounce;
  /** Why nothing new is taken at the moment; undefined when it is. */
  readonly closed: () => FleetError | undefined;
  /** Called with the task that opened a context which this profile had not seen. */
  readonly onFreshContext: (taskId: string) => JsonObject;
}

/**
 * What becomes of an A2A message: an announce or a handshake text is answered, a dispatch or plain text becomes a
 * durable task (design 2, Carriage). Throws a FleetError that leaves nothing behind.
 */
export async function acceptMessage(
  o: IntakeOptions,
  message: InboundMessage,
  caller: Caller,
): Promise<Accepted> {
  const part = handshakePart(message);
  if (part?.type === 'SESSION_ANNOUNCE') return acceptAnnounce(o, part, message, caller);
  if (part?.type === 'TASK_RESULT')
    throw invalid('data.type', 'a TASK_RESULT is an answer: send a TASK_DISPATCH or a SESSION_ANNOUNCE');
  if (!part && message.contextId?.startsWith(HANDSHAKE_CONTEXT)) return greet(o, message.contextId, caller);
  const closed = o.closed();
  if (closed) throw closed;
  if (message.taskId !== undefined) refuseFollowUp(o.ledger, message.taskId, message.contextId, caller);
  return acceptTask(o, part ?? proseDispatch(message.text, o.ids), message, caller);
}

/** The handshake message among the data parts; other data parts are none of ours, except under our media type. */
function handshakePart(message: InboundMessage): JsonObject | undefined {
  for (const { data, mediaType } of message.data) {
    const ours = mediaType === HANDSHAKE_MEDIA_TYPE;
    if (!ours && mediaType !== undefined && mediaType !== 'application/json') continue;
    if (isJsonObject(data) && typeof data.type === 'string' && HANDSHAKE_TYPES.has(data.type)) return data;
    if (ours) throw invalid('data.type', 'must be SESSION_ANNOUNCE or TASK_DISPATCH');
  }
  return undefined;
}

async function acceptAnnounce(
  o: IntakeOptions,
  wire: JsonObject,
  message: InboundMessage,
  caller: Caller,
): Promise<Accepted> {
  requireScope(caller, 'announce');
  const announce = decodeAnnounce(wire);
  const peer = announce.worker.agentId;
  const recorded = await o.peers.record(announce, caller);
  o.metrics.announce(peer, 'in', recorded.outcome === 'refused' ? 'error' : 'ok');
  if (recorded.outcome === 'recorded') {
    o.metrics.peerLastAnnounce(peer, o.clock.now() / 1000);
    o.log.debug({ peer, caller: caller.name }, 'announce recorded');
  }
  const contextId = message.contextId ?? `${HANDSHAKE_CONTEXT}hermes-${o.profile}`;
  return { kind: 'reply', contextId, data: encodeAnnounce(inContext(o.announce(), contextId)) };
}

/** Seed 004's convention: role, profile and readiness in words, the announce beside them; it spends nothing. */
function greet(o: IntakeOptions, contextId: string, caller: Caller): Accepted {
  requireScope(caller, 'announce');
  const announce = inContext(o.announce(), contextId);
  const state = announce.ready === false ? 'not ready' : 'ready';
  const text = [
    `role=${announce.role ?? 'agent'} profile=${o.profile} ${state}`,
    ...(announce.purpose === undefined ? [] : [announce.purpose]),
  ].join('\n');
  return { kind: 'reply', contextId, text, data: encodeAnnounce(announce) };
}

async function acceptTask(
  o: IntakeOptions,
  wire: JsonObject,
  message: InboundMessage,
  caller: Caller,
): Promise<Accepted> {
  const reading = readDispatch(wire, o.versions);
  const fresh = message.contextId === undefined || !knows(o.ledger, message.contextId);
  const { task, created } = await o.ledger.accept({
    id: o.ids.uuid(),
    contextId: message.contextId ?? o.ids.uuid(),
    caller: caller.name,
    key: reading.taskId ?? o.ids.uuid(),
    fingerprint: dispatchFingerprint(wire),
    message: message.raw,
    dispatch: wire,
    ...(message.traceparent === undefined ? {} : { traceparent: message.traceparent }),
  });
  const fields = { task_id: task.id, context_id: task.contextId, caller: caller.name };
  o.log.info(fields, created ? 'task accepted' : 'task is known already: the same one answers');
  const metadata = created && fresh ? o.onFreshContext(task.id) : undefined;
  await o.dispatcher.submit(task, caller);
  return { kind: 'task', taskId: task.id, ...(metadata ? { metadata } : {}) };
}

function refuseFollowUp(
  ledger: Ledger,
  taskId: string,
  contextId: string | undefined,
  caller: Caller,
): never {
  const task = ledger.get(taskId);
  if (!task || task.caller !== caller.name)
    throw new FleetError('TASK_NOT_FOUND', `task ${taskId} is not known`);
  if (contextId !== undefined && contextId !== task.contextId)
    throw new FleetError('CONTEXT_MISMATCH', `task ${taskId} is not part of context ${contextId}`);
  throw new FleetError(
    'UNSUPPORTED_OPERATION',
    `task ${taskId} takes no further message: send a new one in context ${task.contextId}`,
  );
}

/** The dispatch that a text message stands for, its hints read (design 2, Prose peers, Inbound). */
function proseDispatch(text: string, ids: Ids): JsonObject {
  const hints = parseHints(text);
  const brief = hints?.brief ?? text;
  if (brief.trim() === '')
    throw invalid('message.parts', 'has no text and no TASK_DISPATCH: send one of them');
  return {
    type: 'TASK_DISPATCH',
    protocol_version: PROTOCOL_VERSION,
    task: { task_id: ids.uuid(), priority: 'normal', reply_schema: 'prose', ...hints?.task },
    ...(hints ? { requirements: hints.requirements } : {}),
    ...(hints?.deadline === undefined ? {} : { deadline: hints.deadline }),
    brief,
  };
}

function knows(ledger: Ledger, contextId: string): boolean {
  return ledger.list({ contextId, pageSize: 1 }).totalSize > 0;
}

function inContext(announce: SessionAnnounce, contextId: string): SessionAnnounce {
  return { ...announce, session: { ...announce.session, contextId } };
}

function invalid(path: string, reason: string): FleetError {
  return new FleetError('INVALID_PARAMS', `${path} ${reason}`, { fields: [{ path, reason }] });
}
