import type { AgentCard, Message, SendMessageRequest, StreamResponse, Task } from '@a2a-js/sdk';
import { type JsonRpcTransportHandler, ServerCallContext } from '@a2a-js/sdk/server';
import { isTerminal, type Ledger, type PushVersion, type TaskRecord } from '@hermes-fleet/ledger';
import { FleetError, HANDSHAKE_EXTENSION, type JsonObject } from '@hermes-fleet/protocol';
import type { Accepted, Caller, Ids, Intake } from '@hermes-fleet/protocol/ports';
import { ownArtifacts, type PartUrl } from '../wire/artifact-view.ts';
import { agentMessage } from '../wire/parts.ts';
import { type TaskViewOptions, taskView } from '../wire/task-view.ts';
import { partUrlAt } from './artifact-route.ts';
import { followTask, readLastEventId } from './follow-task.ts';
import { toInbound } from './inbound.ts';
import { CLOSING, shuttingDown } from './open-calls.ts';
import { acceptableTask, acceptableUpdate, type OutputModes, readOutputModes } from './output-modes.ts';
import { createPushMethods, type PushPort } from './push-methods.ts';
import { continuable, listTasks, requireTask, taskNotFound } from './read-tasks.ts';
import { createTurns, type Turns } from './turns.ts';

/** The large updates that the streams of a caller have unsent at a time: each is in memory until its client has read it. */
const MAX_LARGE_UPDATES = 8;

/** The interface that the SDK's transport handlers call. */
export type A2ARequestHandler = ConstructorParameters<typeof JsonRpcTransportHandler>[0];

export interface HandlerDeps {
  readonly ledger: Ledger;
  readonly intake: Intake;
  readonly ids: Ids;
  /** Becomes Task.metadata of replies about a task, e.g. `{"urn:hermes-fleet:handshake:2": <announce>}`. */
  readonly replyMetadata?: ((taskId: string) => JsonObject | undefined) | undefined;
  /** Push notifications, which the card must then declare; absent: they are refused. */
  readonly push?: PushPort | undefined;
}

/** One request, and the results that the SDK's transport handler cannot return. */
export interface Call {
  readonly caller: Caller;
  readonly version: PushVersion;
  readonly card: () => AgentCard;
  /** Throws UNSUPPORTED_OPERATION for an agent without one. */
  readonly extendedCard: () => AgentCard;
  /** The raw body. */
  readonly text: string;
  /** Called when the intake receives the message. */
  readonly onHandedOver: () => void;
  /** The raw `params.message`; undefined for A2A 0.3. */
  readonly rawMessage: JsonObject | undefined;
  /** The URIs of the supported extensions that the client asked for. */
  readonly activeExtensions: () => readonly string[];
  readonly lastEventId: string | undefined;
  readonly traceparent: string;
  /** Aborts with CLIENT_GONE or CLOSING, and may abort after the call is over. */
  readonly signal: AbortSignal;
  /** The id of the last yielded stream event. */
  eventId: number | undefined;
  /** The error that a method threw: the SDK's transport handler would put its text into the reply. */
  failure: unknown;
}

/** The context of the SDK with the call that it belongs to: the SDK's transport handler passes it to each method. */
export class CallContext extends ServerCallContext {
  readonly call: Call;

  constructor(requestedVersion: string, call: Call) {
    super({ requestedVersion });
    this.call = call;
  }
}

function callIn(context: ServerCallContext): Call {
  if (context instanceof CallContext) return context.call;
  throw new TypeError('a method was called without a CallContext');
}

/** Runs a method for the call of its context. Keeps its error for a reply that does not leak the text. */
const capture =
  <P, R>(method: (call: Call, params: P) => Promise<R>) =>
  async (params: P, context: ServerCallContext): Promise<R> => {
    const call = callIn(context);
    try {
      return await method(call, params);
    } catch (thrown) {
      call.failure = thrown;
      throw thrown;
    }
  };

/** Answers A2A requests from the ledger and the intake; each comes with a CallContext. */
export function createRequestHandler(deps: HandlerDeps): Omit<A2ARequestHandler, 'getAgentCard'> {
  const { ledger, intake } = deps;
  const push = createPushMethods({ push: deps.push, ids: deps.ids });
  const turns = createTurns(MAX_LARGE_UPDATES);

  /** Another caller's task is indistinguishable from an unknown one. */
  const ownTask = ({ caller }: Call, id: string): TaskRecord => {
    const record = ledger.get(id);
    if (record === undefined || record.caller !== caller.name) throw taskNotFound(id);
    return record;
  };

  const metadataOf = (taskId: string, accepted?: JsonObject): JsonObject | undefined => {
    const known = deps.replyMetadata?.(taskId);
    return known || accepted ? { ...known, ...accepted } : undefined;
  };

  const urlOf = (call: Call, taskId: string): PartUrl =>
    partUrlAt(() => call.card().supportedInterfaces[0]?.url ?? '', taskId);

  const ownOf = (call: Call, { id }: TaskRecord): Pick<TaskViewOptions, 'own' | 'ownFirst'> => {
    const own = ownArtifacts(ledger.artifacts(id), urlOf(call, id));
    return own.length === 0 ? {} : { own, ownFirst: !hasHandshake(call) };
  };

  const view = (
    call: Call,
    record: TaskRecord,
    historyLength: number | undefined,
    accepted?: JsonObject,
  ): Task =>
    taskView(record, [], {
      ...ownOf(call, record),
      historyLength,
      metadata: metadataOf(record.id, accepted),
      questions: ledger.questions(record.id),
      late: isTerminal(record.state) ? ledger.lateResult(record.id) : undefined,
    });

  const accept = (call: Call, params: SendMessageRequest): Promise<Accepted> => {
    if (params.message === undefined) throw new FleetError('INVALID_PARAMS', 'message is required');
    const inbound = toInbound(params.message, call, () => call.card().defaultInputModes);
    const { taskId } = inbound;
    const task = taskId === undefined ? undefined : continuable(ledger, ownTask(call, taskId), inbound);
    const handOver = (): Promise<Accepted> => {
      call.onHandedOver();
      return intake.accept(task ? { ...inbound, contextId: task.contextId } : inbound, call.caller);
    };
    const config = params.configuration?.taskPushNotificationConfig;
    return config === undefined ? handOver() : push.accept(call, config, taskId, handOver);
  };

  const toMessage = (reply: Extract<Accepted, { kind: 'reply' }>): Message =>
    agentMessage({ ...reply, messageId: deps.ids.uuid() });

  const settled = async ({ signal }: Call, taskId: string): Promise<TaskRecord> => {
    try {
      return await ledger.settled(taskId, signal);
    } catch (thrown) {
      // The task outlives this process: the caller gets its id and can ask again.
      if (signal.reason !== CLOSING) throw thrown;
      return requireTask(ledger, taskId);
    }
  };

  const follow = async function* (
    call: Call,
    record: TaskRecord,
    afterSeq: number,
    options: Pick<Parameters<typeof followTask>[0], 'untilAsked' | 'isResumed' | 'metadata'> & {
      readonly modes?: OutputModes | undefined;
    },
  ): AsyncGenerator<StreamResponse, void, undefined> {
    const { modes, ...shape } = options;
    const { signal } = call;
    const takeTurn = (until: AbortSignal): Promise<Disposable> => takeTurnOf(turns, call, until);
    const shown = {
      ...{ ...shape, takeTurn },
      ...{ hasHandshake: () => hasHandshake(call), urlOf: urlOf(call, record.id) },
    };
    for await (const { eventId, response } of followTask({ ledger, record, afterSeq, signal, ...shown })) {
      const acceptable = acceptableUpdate(response, modes);
      if (acceptable === undefined) continue;
      call.eventId = eventId;
      yield acceptable;
      // The generators between here and the client keep each update until the next one, which may be hours later.
      response.payload = undefined;
      acceptable.payload = undefined;
    }
  };

  return {
    getAuthenticatedExtendedAgentCard: capture(async (call) => call.extendedCard()),
    sendMessage: capture(async (call, params) => {
      const modes = modesOf(call, params);
      const accepted = await accept(call, params);
      if (accepted.kind === 'reply') return toMessage(accepted);
      const { returnImmediately, historyLength } = params.configuration ?? {};
      const record = returnImmediately
        ? requireTask(ledger, accepted.taskId)
        : await settled(call, accepted.taskId);
      return acceptableTask(view(call, record, historyLength, accepted.metadata), modes);
    }),
    async *sendMessageStream(params, context) {
      const call = callIn(context);
      const modes = modesOf(call, params);
      const accepted = await accept(call, params);
      if (accepted.kind === 'reply') {
        yield { payload: { $case: 'message', value: toMessage(accepted) } };
        return;
      }
      const record = requireTask(ledger, accepted.taskId);
      // The stream ends at a question: the caller's answer opens its own stream. SubscribeToTask follows to the end.
      const metadata = metadataOf(record.id, accepted.metadata);
      yield* follow(call, record, record.lastSeq, { untilAsked: true, isResumed: false, metadata, modes });
    },
    async *resubscribe({ id }, context) {
      const call = callIn(context);
      const record = ownTask(call, id);
      const resumeAfter = readLastEventId(call.lastEventId, record);
      // A2A 0.3 has no error for a subscriber that comes late: it gets the final task.
      const isRefused = context.requestedVersion !== '0.3' && isTerminal(record.state);
      if (resumeAfter === undefined && isRefused) {
        throw new FleetError('UNSUPPORTED_OPERATION', 'the task has ended; use GetTask to read its result');
      }
      const isResumed = resumeAfter !== undefined;
      const metadata = ofExtensions(call.activeExtensions(), metadataOf(id));
      yield* follow(call, record, resumeAfter ?? record.lastSeq, { untilAsked: false, isResumed, metadata });
    },
    getTask: capture(async (call, { id, historyLength }) =>
      view(call, ownTask(call, id), historyLength, push.metadataOf(id)),
    ),
    listTasks: capture(async (call, params) =>
      listTasks(ledger, call.caller, params, (record) => ownOf(call, record)),
    ),
    cancelTask: capture(async (call, { id }) => {
      const record = ownTask(call, id);
      if (isTerminal(record.state)) {
        throw new FleetError('TASK_NOT_CANCELABLE', `task ${id} has ended (${record.state})`);
      }
      await intake.cancel(id, call.caller);
      return view(call, requireTask(ledger, id), undefined);
    }),
    createTaskPushNotificationConfig: capture(async (call, params) =>
      push.create(call, ownTask(call, params.taskId), params),
    ),
    getTaskPushNotificationConfig: capture(async (call, params) =>
      push.get(ownTask(call, params.taskId), params),
    ),
    listTaskPushNotificationConfigs: capture(async (call, params) =>
      push.list(ownTask(call, params.taskId), params),
    ),
    deleteTaskPushNotificationConfig: capture(async (call, params) =>
      push.remove(ownTask(call, params.taskId), params),
    ),
  };
}

/** Throws SHUTTING_DOWN to a call that waits for its turn when the service closes. */
async function takeTurnOf(turns: Turns, { caller }: Call, signal: AbortSignal): Promise<Disposable> {
  try {
    return await turns.takeTurn(caller.name, signal);
  } catch (thrown) {
    if (thrown !== CLOSING) throw thrown;
    throw shuttingDown();
  }
}

/** True if the client has activated the handshake extension. */
const hasHandshake = (call: Call): boolean => call.activeExtensions().includes(HANDSHAKE_EXTENSION);

function modesOf(call: Call, { configuration }: SendMessageRequest): OutputModes | undefined {
  const offered = (): readonly string[] => call.card().defaultOutputModes;
  return readOutputModes(configuration?.acceptedOutputModes, offered, () => hasHandshake(call));
}

/**
 * The metadata of these extensions. All streams of a task show the same events (A2A 1.0, section 3.5.2), but metadata such
 * as an announce differs with its time: only clients that asked for the extension get it.
 */
function ofExtensions(active: readonly string[], metadata: JsonObject | undefined): JsonObject | undefined {
  const shown = Object.entries(metadata ?? {}).filter(([uri]) => active.includes(uri));
  return shown.length === 0 ? undefined : Object.fromEntries(shown);
}
