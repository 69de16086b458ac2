import type { PeerEndpoint, PeerTask } from '@hermes-fleet/a2a';
import { FleetError } from '@hermes-fleet/protocol';
import type { TaskResult } from '@hermes-fleet/protocol/handshake';
import { reportInstructions } from '@hermes-fleet/protocol/prose';
import { awaitAnswer } from '../delegation/await-answer.ts';
import type { CancelOptions, DelegationOutcome, RefusedDispatch } from '../delegation/delegate-options.ts';
import type { Delegation } from '../delegation/delegation.ts';
import { createPeerContact, type PeerContact } from '../delegation/peer-contact.ts';
import { type AnswerMessage, isWaitingForCaller, unansweredResult } from '../delegation/question-exchange.ts';
import {
  announcesIn,
  answerOf,
  emptyResult,
  type JudgedResult,
  judgeAnswer,
  type PeerAnswer,
} from '../delegation/remote-result.ts';
import { followTask } from './follow-task.ts';
import { sendAnswerOnce } from './send-answer-once.ts';
import {
  findTaskOf,
  type OutcomeUnknown,
  type ProseOptions,
  sendOnce,
  type TextMessage,
} from './send-once.ts';

/** Two calls of this length fit into the time that an aborted run has to end. */
const CANCEL_TIMEOUT_MS = 4_000;

/**
 * Delegates a task to an agent without the handshake (docs/handshake.md#prose-peers). The contract goes as text, once; the
 * answer may be a Message, or a Task, which is followed. The agent's questions go to the caller, and each answer is sent
 * once. A reply without a required part is asked for again once, inside budget and deadline. When an answer is lost and
 * the agent cannot tell what happened, the result is the error `outcome_unknown`. Throws the signal's reason.
 */
export async function delegateProse(
  options: ProseOptions,
  delegation: Delegation,
): Promise<DelegationOutcome> {
  const peer = { ...options, endpoint: endpointOf(options, delegation) };
  const { messageId, contextId } = delegation;
  const message = { messageId, contextId, text: textOf(delegation), parts: options.parts };
  let contact = createPeerContact(peer);
  let outcome = await beginOrResume(peer, contact, message, delegation);
  while (outcome.kind === 'answered' && outcome.waiting && outcome.declined === undefined) {
    const { waiting } = outcome;
    const awaited = await awaitAnswer(peer, waiting, isWaitingForCaller);
    if ('answer' in awaited && !awaited.answer) break;
    for (const announce of announcesIn(outcome.answer)) await peer.onAnnounce(announce);
    contact = createPeerContact(peer);
    if ('moved' in awaited) outcome = settled(await followTask(peer, contact, awaited.moved));
    else if (awaited.answer)
      outcome = await answerTask(peer, contact, delegation, waiting.id, awaited.answer, false);
  }
  if (outcome.kind === 'refused') return outcome;
  if (outcome.kind === 'unknown') return { kind: 'result', result: unknownResult(peer, delegation, outcome) };
  const { answer } = outcome;
  for (const announce of announcesIn(answer)) await peer.onAnnounce(announce);
  if (outcome.waiting) {
    const { waiting, declined: why } = outcome;
    const canceled = await cancelProseTask(peer, { ...delegation, remoteTaskId: waiting.id });
    return { kind: 'result', result: unansweredResult(peer, waiting, canceled, why) };
  }
  const judged = judgeAnswer(answer, peer);
  return { kind: 'result', result: (await repairReply(peer, contact, delegation, judged)) ?? judged.result };
}

async function beginOrResume(
  options: ProseOptions,
  contact: PeerContact,
  message: TextMessage,
  delegation: Delegation,
): Promise<Answered | RefusedDispatch | OutcomeUnknown> {
  const { questions, resumed } = options;
  const { remoteTaskId, answers } = delegation;
  const undelivered = await questions.undeliveredAnswer();
  const pending = questions.pendingQuestion();
  if (pending) return settled(pending);
  if (undelivered && remoteTaskId !== undefined)
    return await answerTask(options, contact, delegation, remoteTaskId, undelivered, true);
  return await sendAndFollow(options, contact, message, remoteTaskId, resumed, answers?.statusId);
}

/** Cancels the task at the agent. Returns its result if that can still be read. Never sends the work again. */
export async function cancelProseTask(
  options: CancelOptions,
  delegation: Delegation,
): Promise<TaskResult | undefined> {
  const { client, traceparent } = options;
  const call = { timeoutMs: CANCEL_TIMEOUT_MS, traceparent };
  const { messageId, contextId } = delegation;
  const endpoint = endpointOf(options, delegation);
  try {
    let id = delegation.remoteTaskId;
    if (id === undefined) {
      const listed = await client.listTasks(endpoint, contextId, call);
      id = listed.find(({ messageIds }) => messageIds.includes(messageId))?.task.id;
    }
    if (id === undefined) throw new FleetError('TASK_NOT_FOUND', 'the agent shows no task for the message');
    const task = await client.cancelTask(endpoint, id, call);
    return task.terminal ? judgeAnswer(task, options).result : undefined;
  } catch (error) {
    options.log.warn(
      { peer: endpoint.name, err: error },
      'task at the agent could not be canceled: it may continue',
    );
    return undefined;
  }
}

interface Answered {
  readonly kind: 'answered';
  readonly answer: PeerAnswer;
  /** The task that waits for its caller, if it ended so. */
  readonly waiting?: PeerTask;
  /** The agent's reason for not accepting the answer that it waits for. */
  readonly declined?: string;
}

function settled(task: PeerTask | OutcomeUnknown): Answered | OutcomeUnknown {
  if ('why' in task) return task;
  return { kind: 'answered', answer: task, ...(isWaitingForCaller(task) ? { waiting: task } : {}) };
}

/** Sends the caller's answer once, and follows the task from there. */
async function answerTask(
  options: ProseOptions,
  contact: PeerContact,
  { messageId, contextId }: Delegation,
  taskId: string,
  { statusId, ...answer }: AnswerMessage,
  mayHaveArrived: boolean,
): Promise<Answered | OutcomeUnknown> {
  const message = { ...answer, contextId, taskId };
  const sent = await sendAnswerOnce(options, contact, message, messageId, mayHaveArrived);
  if (sent.kind === 'unknown') return sent;
  await options.questions.markDelivered();
  if (sent.kind === 'message') return { kind: 'answered', answer: answerOf(sent) };
  const isAccepted = sent.kind !== 'declined';
  const from = sent.kind === 'task' ? sent.task : taskId;
  const ended = await followTask(options, contact, from, isAccepted ? statusId : undefined);
  if ('why' in ended) return ended;
  const declined = sent.kind === 'declined' ? ` (it did not take the answer: ${sent.reason})` : undefined;
  return {
    kind: 'answered',
    answer: ended,
    ...(isWaitingForCaller(ended) ? { waiting: ended, ...(declined === undefined ? {} : { declined }) } : {}),
  };
}

async function sendAndFollow(
  options: ProseOptions,
  contact: PeerContact,
  message: TextMessage,
  knownId: string | undefined,
  mayHaveArrived: boolean,
  answeredStatus?: string,
): Promise<Answered | RefusedDispatch | OutcomeUnknown> {
  let from: PeerTask | string | undefined = knownId;
  if (from === undefined) {
    const sent = await (mayHaveArrived
      ? findTaskOf(options, contact, message)
      : sendOnce(options, contact, message));
    if (sent.kind === 'message') return { kind: 'answered', answer: answerOf(sent) };
    if (sent.kind !== 'task' && sent.kind !== 'found') return sent;
    from = sent.kind === 'task' ? sent.task : sent.id;
    await options.onAccepted(typeof from === 'string' ? from : from.id);
    if (typeof from !== 'string') await options.onTask(from);
  }
  return settled(await followTask(options, contact, from, answeredStatus));
}

/** Asks once for the missing part of a reply; undefined when nothing is missing or the second reply is no better. */
async function repairReply(
  options: ProseOptions,
  contact: PeerContact,
  delegation: Delegation,
  { result, missed }: JudgedResult,
): Promise<TaskResult | undefined> {
  if (missed === undefined || options.remainingTokens() <= result.tokensSpent) return undefined;
  const { messageId, contextId } = delegation;
  const message = { messageId: `${messageId}:repair`, contextId, text: repairText(options, missed) };
  let repairTask: string | undefined;
  const onAccepted = async (id: string): Promise<void> => {
    repairTask = id;
  };
  try {
    const outcome = await sendAndFollow(
      { ...options, onAccepted },
      contact,
      message,
      undefined,
      options.resumed,
    );
    if (outcome.kind !== 'answered') return undefined;
    if (outcome.waiting) throw new FleetError('PEER_REFUSED', 'the agent asked back');
    const again = judgeAnswer(outcome.answer, options);
    // The work has run, so it cannot become blocked: that would let another peer start it.
    if (!again.reported || again.result.status === 'blocked') return undefined;
    return merged(result, again.result);
  } catch (error) {
    if (!(error instanceof FleetError) || error.code === 'SHUTTING_DOWN') throw error;
    options.log.warn(
      { peer: options.endpoint.name, err: error },
      'a reply was not repaired: it stays partial',
    );
    if (repairTask !== undefined) await cancelProseTask(options, { ...delegation, remoteTaskId: repairTask });
    return undefined;
  }
}

function merged(first: TaskResult, second: TaskResult): TaskResult {
  const text = first.text || second.text;
  return {
    ...second,
    tokensSpent: first.tokensSpent + second.tokensSpent,
    ...(text === undefined ? {} : { text }),
  };
}

function repairText({ taskId, replySchema }: ProseOptions, missed: string): string {
  return [
    `Your reply to task ${JSON.stringify(taskId)} is not what was asked for: ${missed}.`,
    'Do not do the work again: only report what you did.',
    '',
    reportInstructions(taskId, replySchema),
  ].join('\n');
}

function unknownResult(
  { endpoint: { name }, taskId }: ProseOptions,
  { contextId }: Delegation,
  { why }: OutcomeUnknown,
): TaskResult {
  const message = `it is unknown whether ${name} did the task: ${why}. It was not sent again, because ${name} might do the work twice: look for context ${contextId} at ${name}, then dispatch what is missing under a new task_id`;
  return {
    ...emptyResult(taskId),
    status: 'error',
    error: { code: 'outcome_unknown', message, retryable: false },
  };
}

function textOf({ payload, peer }: Delegation): string {
  if (typeof payload.text === 'string') return payload.text;
  throw new FleetError('INTERNAL', `the delegation to ${peer} holds no text`);
}

/** The endpoint that the task was sent to. The peer's token never goes to another host. */
export function endpointOf(
  { endpoint }: Pick<ProseOptions, 'endpoint'>,
  { payload: { url } }: Delegation,
): PeerEndpoint {
  const isSame = typeof url === 'string' && new URL(url).origin === new URL(endpoint.url).origin;
  return isSame ? { ...endpoint, url } : endpoint;
}
