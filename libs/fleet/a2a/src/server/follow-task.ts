import type { Artifact, StreamResponse, TaskStatus } from '@a2a-js/sdk';
import {
  impliedState,
  isTerminal,
  type Ledger,
  type Question,
  type StoredChunk,
  type TaskEvent,
  type TaskRecord,
} from '@hermes-fleet/ledger';
import { invalidParams, type JsonObject, type TaskState, TERMINAL_EVENTS } from '@hermes-fleet/protocol';
import { chunkArtifact, ownArtifacts, type PartUrl } from '../wire/artifact-view.ts';
import { EVENT_METADATA } from '../wire/event-metadata.ts';
import { a2aState } from '../wire/task-state.ts';
import {
  artifactsOf,
  deltaOf,
  type RunningState,
  runningView,
  statusMessage,
  statusView,
  taskView,
  textArtifact,
} from '../wire/task-view.ts';
import { CLOSING } from './open-calls.ts';
import { requireTask } from './read-tasks.ts';

export interface StreamItem {
  /** The ledger sequence to resume after; undefined unless this is the last update of its event. */
  readonly eventId: number | undefined;
  readonly response: StreamResponse;
}

const PAGE = 500;

/** An update with more content of artifacts is large, in bytes. */
const LARGE_BYTES = 64 * 1024;

interface FollowOptions {
  ledger: Ledger;
  record: TaskRecord;
  afterSeq: number;
  metadata: JsonObject | undefined;
  untilAsked: boolean;
  /** The client continues an earlier stream, and has the artifacts up to `afterSeq`. */
  isResumed: boolean;
  /** The client has activated the handshake extension. */
  hasHandshake: () => boolean;
  urlOf: PartUrl;
  signal: AbortSignal;
  /** Awaited before a large update is read; disposed when the next update is asked for. */
  takeTurn?: ((signal: AbortSignal) => Promise<Disposable>) | undefined;
}

/**
 * Streams a task: first its snapshot after event `afterSeq`, then an update for every later event up to the terminal one,
 * or with `untilAsked` up to a question to the caller. The ledger's log is the only source, so a resumed stream neither
 * misses nor repeats an event. Rejects with the signal's reason, but a stream that has begun and whose task has ended when
 * the service closes goes on to its end. It keeps no content of an update that was taken.
 */
export async function* followTask(options: FollowOptions): AsyncGenerator<StreamItem, void, undefined> {
  const { ledger, record, afterSeq, signal } = options;
  const begun = yield* snapshot(options);
  if (begun.isLast) return;
  const place = { ...begun, seq: afterSeq };
  try {
    yield* updates(options, place);
  } catch (thrown) {
    if (signal.reason !== CLOSING || !isTerminal(requireTask(ledger, record.id).state)) throw thrown;
    // The follower may not find this service again. All is in the ledger, so there is nothing to wait for.
    yield* updates({ ...options, signal: new AbortController().signal }, place);
  }
}

/** The updates after `place`, which moves on with each event that was sent. */
async function* updates(options: FollowOptions, place: Place): AsyncGenerator<StreamItem, void, undefined> {
  const { ledger, record, untilAsked, signal } = options;
  for await (const event of ledger.watch(record.id, place.seq, signal)) {
    if (TERMINAL_EVENTS.has(event.type)) {
      yield* endUpdates(options, event);
      return;
    }
    if (event.type === 'text') {
      using _turn = await turnFor(options, deltaOf(event).length);
      yield item(event.seq, artifactUpdate(record, textArtifact(deltaOf(event)), place.hasText, false));
      place.hasText = true;
    } else if (event.type === 'artifact') {
      yield* chunkUpdates(options, event);
    } else {
      place.state = currentState(ledger, event) ?? impliedState(event.type) ?? place.state;
      yield item(event.seq, statusUpdate(record, event, place.state, questionOf(ledger, event)));
      if (untilAsked && place.state === 'input_required') return;
    }
    place.seq = event.seq;
  }
}

/** What a stream goes on from. */
interface Place {
  state: TaskState;
  hasText: boolean;
  /** The last event that was sent. */
  seq: number;
}

interface Begun extends Pick<Place, 'state' | 'hasText'> {
  /** Nothing follows the snapshot. */
  readonly isLast: boolean;
}

async function* snapshot(options: FollowOptions): AsyncGenerator<StreamItem, Begun, undefined> {
  const { ledger, record, afterSeq, isResumed, urlOf } = options;
  using _turn = await turnFor(
    options,
    isResumed ? 0 : ledger.inlineArtifactBytes(record.id) + resultLength(record),
  );
  const isCurrent = afterSeq >= record.lastSeq;
  const chunks = isResumed ? [] : ledger.artifacts(record.id).filter(({ seq }) => seq <= afterSeq);
  const own = ownArtifacts(chunks, urlOf);
  const past = { ...replay(ledger, record, afterSeq, isCurrent), own };
  const isOver = isCurrent && isTerminal(record.state);
  const shown = isOver
    ? taskView(record, [], {
        questions: ledger.questions(record.id),
        own,
        ownFirst: own.length > 0 && !options.hasHandshake(),
      })
    : runningView(record, past);
  const task = isResumed ? { ...shown, artifacts: [] } : shown;
  yield item(afterSeq, { $case: 'task', value: { ...task, metadata: options.metadata } });
  const { state, text } = past;
  const isAsked = options.untilAsked && isCurrent && state === 'input_required';
  return { state, hasText: text !== '', isLast: isOver || isAsked };
}

async function* chunkUpdates(
  options: FollowOptions,
  event: TaskEvent,
): AsyncGenerator<StreamItem, void, undefined> {
  const { ledger, record, urlOf } = options;
  using _turn = await turnFor(options, Number(event.data.bytes));
  const update = chunkUpdate(record, event, ledger.artifactAt(event), urlOf);
  if (update) yield item(event.seq, update);
}

async function* endUpdates(
  options: FollowOptions,
  event: TaskEvent,
): AsyncGenerator<StreamItem, void, undefined> {
  const { ledger, record } = options;
  let ended: TaskRecord | undefined = requireTask(ledger, record.id);
  const length = resultLength(ended);
  // A large result is read again when it is its turn.
  if (length > LARGE_BYTES) ended = undefined;
  using _turn = await turnFor(options, length);
  yield* finalUpdates(ended ?? requireTask(ledger, record.id), event);
}

async function turnFor({ takeTurn, signal }: FollowOptions, bytes: number): Promise<Disposable | undefined> {
  return bytes > LARGE_BYTES ? await takeTurn?.(signal) : undefined;
}

/** The length of the text and the output of a task that has ended: the rest of a result is short. */
function resultLength({ result }: TaskRecord): number {
  const text = typeof result?.text === 'string' ? result.text.length : 0;
  return text + (result?.output === undefined ? 0 : JSON.stringify(result.output).length);
}

type Replayed = Omit<RunningState, 'own'>;

/** Replays the log up to `afterSeq`. When that is the whole log, the state comes from the record. */
function replay(ledger: Ledger, record: TaskRecord, afterSeq: number, isCurrent: boolean): Replayed {
  const questions = ledger.questions(record.id).filter(({ seq }) => seq <= afterSeq);
  let past: Omit<Replayed, 'questions'> = { state: 'submitted', at: record.createdAt, text: '' };
  const standing = (): Replayed => ({
    ...past,
    ...(isCurrent ? { state: record.state } : {}),
    questions,
  });
  for (let seq = 0; ; ) {
    const page = ledger.events(record.id, seq, PAGE);
    for (const event of page) {
      if (event.seq > afterSeq) return standing();
      past = {
        state: impliedState(event.type) ?? past.state,
        at: event.at,
        text: past.text + deltaOf(event),
      };
    }
    seq = page.at(-1)?.seq ?? seq;
    if (page.length < PAGE) return standing();
  }
}

/** The question of an `input_required` event. Events are published on the bus, so they do not hold its text. */
function questionOf(ledger: Ledger, { taskId, type, seq }: TaskEvent): Question | undefined {
  if (type !== 'input_required') return undefined;
  return ledger.questions(taskId).find((question) => question.seq === seq);
}

/** The record's state when the event is the newest: an event may change the state in a way that its type does not imply. */
function currentState(ledger: Ledger, event: TaskEvent): TaskState | undefined {
  const record = ledger.get(event.taskId);
  return record?.lastSeq === event.seq ? record.state : undefined;
}

type Payload = NonNullable<StreamResponse['payload']>;

const item = (eventId: number | undefined, payload: Payload): StreamItem => ({
  eventId,
  response: { payload },
});

const artifactUpdate = (
  { id: taskId, contextId }: TaskRecord,
  artifact: Artifact,
  append: boolean,
  lastChunk: boolean,
  metadata?: JsonObject,
): Payload => ({
  $case: 'artifactUpdate',
  value: { taskId, contextId, artifact, append, lastChunk, metadata },
});

/** Undefined for a chunk that a later one has replaced: that one follows. */
function chunkUpdate(
  record: TaskRecord,
  event: TaskEvent,
  chunk: StoredChunk | undefined,
  urlOf: PartUrl,
): Payload | undefined {
  if (chunk === undefined || chunk.parts.length === 0) return undefined;
  const append = chunk.place > 0 && !chunk.replaces;
  return artifactUpdate(record, chunkArtifact(chunk, urlOf), append, chunk.isLast, eventMetadata(event));
}

function statusUpdate(
  record: TaskRecord,
  event: TaskEvent,
  state: TaskState,
  question: Question | undefined,
): Payload {
  const { seq, at, data } = event;
  const said = question ?? (typeof data.message === 'string' ? { text: data.message, seq } : undefined);
  const message = said && statusMessage(record, said);
  const timestamp = new Date(at).toISOString();
  return statusPayload(record, event, { state: a2aState(state), message, timestamp });
}

const statusPayload = (
  { id: taskId, contextId }: TaskRecord,
  event: TaskEvent,
  status: TaskStatus,
): Payload => ({
  $case: 'statusUpdate',
  value: { taskId, contextId, status, metadata: eventMetadata(event) },
});

/** The final artifacts, which replace the streamed ones, and then the final status; a stream can resume only after that. */
function* finalUpdates(record: TaskRecord, event: TaskEvent): Generator<StreamItem> {
  for (const artifact of artifactsOf(record))
    yield item(undefined, artifactUpdate(record, artifact, false, true));
  yield item(event.seq, statusPayload(record, event, statusView(record)));
}

function eventMetadata({ seq, type, data }: TaskEvent): JsonObject {
  return { [EVENT_METADATA]: { seq, type, data } };
}

/** The sequence in a Last-Event-ID header; throws INVALID_PARAMS for an id that this task's log has not issued. */
export function readLastEventId(header: string | undefined, record: TaskRecord): number | undefined {
  if (header === undefined || header === '') return undefined;
  const seq = /^\d{1,15}$/.test(header) ? Number(header) : Number.NaN;
  if (seq <= record.lastSeq) return seq;
  throw invalidParams('Last-Event-ID', 'is not an event of this task; subscribe without it');
}
