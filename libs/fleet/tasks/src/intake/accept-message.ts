import { isDeepStrictEqual } from 'node:util';
import type { Ledger, NewTask, TaskRecord } from '@hermes-fleet/ledger';
import {
  dispatchFingerprint,
  type FleetError,
  HANDSHAKE_MEDIA_TYPE,
  highestOf,
  invalidParams,
  isJsonObject,
  isNestedDeeper,
  type JsonObject,
  MAX_NESTING,
  parseJson,
} from '@hermes-fleet/protocol';
import { type Reading, readDispatch } from '@hermes-fleet/protocol/handshake';
import {
  type Accepted,
  attachments,
  bareMediaType,
  type Caller,
  encodePart,
  type Ids,
  type InboundMessage,
  inSpan,
  isHandshakeObject,
  mayHoldHandshake,
  type Tracing,
} from '@hermes-fleet/protocol/ports';
import { parseHints } from '@hermes-fleet/protocol/prose';
import { lineageOf, recordFields } from '../running/lineage.ts';
import type { Dispatcher } from '../scheduling/dispatcher.ts';
import {
  acceptAnnounce,
  acceptGreeting,
  HANDSHAKE_CONTEXT,
  type HandshakeOptions,
} from './accept-announce.ts';
import { acceptAnswer } from './accept-answer.ts';
import { type Claims, claimBundle, claimedBy } from './claim-bundle.ts';
import { inRepository } from './context-repository.ts';
import { submittedData } from './submitted-data.ts';

export interface IntakeOptions extends HandshakeOptions {
  readonly ledger: Ledger;
  readonly dispatcher: Dispatcher;
  readonly ids: Ids;
  readonly tracing?: Tracing | undefined;
  /** The reason if no new task is accepted at the moment. */
  readonly closed: () => FleetError | undefined;
  /** The reason if only tasks that are known already are accepted, because the profile finishes what it has. */
  readonly draining?: () => FleetError | undefined;
  /** Is called with a task that opened a new context or was refused: replies about it carry our announce. */
  readonly onInformed: (task: TaskRecord) => void;
  /** The events `submitted` of tasks that are being accepted and begin a context, by the id of the context. */
  readonly beginning: Map<string, JsonObject>;
  /** The checkouts that callers sent; absent where none are taken. */
  readonly bundles?: Claims | undefined;
}

/**
 * Accepts an A2A message (docs/handshake.md#exchanges). An announce or a text in a handshake context is answered, a
 * dispatch or a plain text becomes a durable task, and a text to a task with an open question is its answer. Throws a
 * FleetError, and changes nothing, if the message is refused.
 */
export async function acceptMessage(
  options: IntakeOptions,
  message: InboundMessage,
  caller: Caller,
): Promise<Accepted> {
  const part = handshakeObject(message);
  const isAnswer = message.taskId !== undefined;
  const isGreeting = !part && !isAnswer && message.contextId?.startsWith(HANDSHAKE_CONTEXT) === true;
  if (part?.type === 'SESSION_ANNOUNCE' || isGreeting) refuseFiles(message);
  if (part?.type === 'SESSION_ANNOUNCE') return acceptAnnounce(options, part, message, caller);
  if (part?.type === 'TASK_RESULT')
    throw invalidParams(
      'data.type',
      'a TASK_RESULT is an answer: send a TASK_DISPATCH or a SESSION_ANNOUNCE',
    );
  if (isGreeting && message.contextId !== undefined)
    return acceptGreeting(options, message.contextId, caller);
  const closed = options.closed();
  if (closed) throw closed;
  if (message.taskId !== undefined) return acceptAnswer(options, message.taskId, message, part, caller);
  return acceptTask(options, part ?? proseDispatch(message, options), message, caller);
}

/** Refuses files with a message that makes no task: nobody would read them. */
function refuseFiles({ raw }: InboundMessage): void {
  const file = attachments(raw).find(({ kind }) => kind === 'file');
  if (file)
    throw invalidParams(
      `message.parts[${file.index}]`,
      'is a file beside an announce or a greeting: send it with a task',
    );
}

async function acceptTask(
  options: IntakeOptions,
  wire: JsonObject,
  message: InboundMessage,
  caller: Caller,
): Promise<Accepted> {
  const receivedAt = options.clock.now();
  const sent = readDispatch(wire, options.versions);
  // At a peer this profile is the caller of all of them, so a task in such a context would share it with another caller.
  if (message.contextId !== undefined && options.ledger.contexts.isSubtasksContextId(message.contextId))
    throw invalidParams('message.contextId', 'is the context of subtasks of this profile: use another one');
  const draining = options.draining?.();
  if (draining && !options.ledger.findByKey(caller.name, sent.taskId ?? '')) throw draining;
  const begun = message.contextId === undefined ? undefined : begunIn(options, message.contextId, caller);
  const contextId = message.contextId ?? options.ids.uuid();
  const dispatch =
    begun && sent.kind === 'dispatch' ? inRepository(wire, sent.dispatch, contextId, begun) : wire;
  const reading = dispatch === wire ? sent : readDispatch(dispatch, options.versions);
  const key = reading.taskId ?? options.ids.uuid();
  const lineage = lineageOf(wire, key, caller, options.peers.isMember);
  const submitted = submittedData(reading);
  const arriving: NewTask = {
    id: options.ids.uuid(),
    contextId,
    caller: caller.name,
    key,
    fingerprint: dispatchFingerprint(wire, attachments(message.raw).map(encodePart)),
    message: message.raw,
    dispatch,
    acceptUntil: acceptUntilOf(reading),
    ...(message.traceparent === undefined ? {} : { traceparent: message.traceparent }),
    ...(lineage === undefined ? {} : { lineage }),
    submitted,
  };
  const arrival = { task: arriving, reading, caller, receivedAt };
  const start = { parent: message.traceparent, attributes: { 'hermes.task.id': arriving.id } };
  const begins = !begun && reading.kind === 'dispatch';
  if (begins) options.beginning.set(contextId, submitted);
  const { task, created } = await inSpan(options.tracing, 'admit', start, async (span) => {
    const claimed = claimedBy(reading);
    if (claimed && !options.ledger.findByKey(caller.name, key))
      await claimBundle(options.bundles, claimed, caller, contextId);
    const accepted = await options.dispatcher.accept(arrival);
    span?.set({ 'hermes.task.state': accepted.task.state, 'hermes.task.created': accepted.created });
    return accepted;
  }).finally(() => {
    if (begins) options.beginning.delete(contextId);
  });
  if (!created) options.log.info(recordFields(task), 'task is a duplicate of a known one');
  // The reply to a refusal tells the caller what has changed since the last announce.
  if (created && (!begun || task.state === 'rejected')) options.onInformed(task);
  return { kind: 'task', taskId: task.id };
}

/** The event `submitted` of the first task of a context, which may not be durable yet; undefined for a new context. */
function begunIn(
  { ledger, beginning }: Pick<IntakeOptions, 'ledger' | 'beginning'>,
  contextId: string,
  caller: Caller,
): JsonObject | undefined {
  const begun = ledger.contexts.beginning(contextId, caller.name) ?? beginning.get(contextId);
  const isCheckout = isJsonObject(begun?.repository) && begun.repository.bundle !== undefined;
  // A further task may have brought a newer commit.
  return isCheckout ? (ledger.contexts.latest(contextId, caller.name) ?? begun) : begun;
}

function acceptUntilOf(reading: Reading): number | undefined {
  const until = reading.kind === 'dispatch' ? reading.dispatch.routing?.acceptUntil : undefined;
  return until === undefined ? undefined : Date.parse(until);
}

/** The brief of a message that has data or files, and no text. */
const NO_TEXT = 'The message has no text: it consists of the data and files that came with it.';

/** Builds the dispatch of a text message from its hints and its text (docs/handshake.md#from-a-prose-peer). */
function proseDispatch(
  { text, raw }: InboundMessage,
  { ids, versions }: Pick<IntakeOptions, 'ids' | 'versions'>,
): JsonObject {
  const hints = parseHints(text);
  const isBare = text.trim() === '' && attachments(raw).length > 0;
  const brief = isBare ? NO_TEXT : (hints?.brief ?? text);
  if (hints && brief.trim() === '')
    throw invalidParams(
      'brief',
      'is missing: end the block of hints with a line `Brief:` that says what to do',
    );
  if (brief.trim() === '')
    throw invalidParams(
      'message.parts',
      'has no text, no data, no file and no TASK_DISPATCH: send one of them',
    );
  return {
    type: 'TASK_DISPATCH',
    protocol_version: highestOf(versions),
    task: { task_id: ids.uuid(), priority: 'normal', reply_schema: 'prose', ...hints?.task },
    ...(hints ? { requirements: hints.requirements, ...hints.top } : {}),
    brief,
  };
}

/**
 * Finds the handshake object of a message: the first one among its data parts, else its whole text
 * (docs/handshake.md#parts). Other data parts are content, unless they have our media type. Throws INVALID_PARAMS if the
 * message has a TASK_DISPATCH beside it, which would be lost.
 */
function handshakeObject(message: InboundMessage): JsonObject | undefined {
  const parts = objectsInParts(message);
  const written = objectInText(message);
  const isCopy = parts.some((part) => isDeepStrictEqual(part, written));
  const [first, ...others] = written === undefined || isCopy ? parts : [...parts, written];
  if (others.some(({ type }) => type === 'TASK_DISPATCH'))
    throw invalidParams(
      'message.parts',
      'has a TASK_DISPATCH beside another handshake object: send one in a message',
    );
  return first;
}

function objectsInParts(message: InboundMessage): JsonObject[] {
  const found: JsonObject[] = [];
  for (const { data, mediaType } of message.data) {
    if (!mayHoldHandshake(mediaType)) continue;
    const ours = mediaType !== undefined && bareMediaType(mediaType) === HANDSHAKE_MEDIA_TYPE;
    if (isHandshakeObject(data)) found.push(data);
    else if (ours && found.length === 0)
      throw invalidParams('data.type', 'must be SESSION_ANNOUNCE or TASK_DISPATCH');
  }
  return found;
}

/** The text of a message to a task is an answer, whatever it holds. */
function objectInText({ text, taskId }: InboundMessage): JsonObject | undefined {
  const whole = text.trim();
  if (taskId !== undefined || !whole.startsWith('{') || !whole.endsWith('}')) return undefined;
  const value = parseJson(whole);
  if (!isHandshakeObject(value)) return undefined;
  if (isNestedDeeper(value))
    throw invalidParams('message.parts', `has JSON that is nested deeper than ${MAX_NESTING} levels`);
  return value;
}
