import type { PeerEndpoint, PeerTask } from '@hermes-fleet/a2a';
import { reportInstructions } from '@hermes-fleet/prose';
import { FleetError, type TaskResult } from '@hermes-fleet/protocol';
import { awaitAnswer } from './await-answer.ts';
import type { Delegated, Refused } from './delegate-options.ts';
import { isWaiting, type PeerAnswer, unansweredResult } from './dialogue.ts';
import { createLink, type Link } from './link.ts';
import { tellOnce } from './prose-answer.ts';
import { lookFor, type ProseOptions, sendOnce, type TextMessage, type Unknown } from './prose-exchange.ts';
import { followTask } from './prose-follow.ts';
import { type Answer, announcesIn, answerOf, emptyResult, type Judged, judge } from './remote-result.ts';
import type { Delegation } from './state.ts';

/** Two calls of this length fit into the time that a run has to end after its abort. */
const WITHDRAW_TIMEOUT_MS = 4_000;

/**
 * One dispatch at an agent that has never heard of the handshake (design 2, Prose peers): the contract goes as text,
 * once; its answer may be a Message or a Task, which is followed. What it asks is asked of the caller, and it is told the
 * answer once. A reply that misses what was asked for is asked for again once, inside budget and deadline. Where an answer
 * is lost and the agent cannot tell, the result is an error `outcome_unknown`. Throws the signal's reason.
 */
export async function delegateProse(options: ProseOptions, delegation: Delegation): Promise<Delegated> {
  const o = { ...options, endpoint: endpointOf(options, delegation) };
  const message = { ...addressOf(delegation), text: textOf(delegation) };
  let link = createLink(o);
  const told = await o.dialogue.undelivered();
  const pending = o.dialogue.pending();
  let exchanged = pending
    ? standing(pending)
    : told && delegation.remoteTaskId !== undefined
      ? await answerTo(o, link, delegation, delegation.remoteTaskId, told, true)
      : await exchange(o, link, message, delegation.remoteTaskId, o.resumed, delegation.answers?.statusId);
  while (exchanged.kind === 'answered' && exchanged.waiting && exchanged.declined === undefined) {
    const { waiting } = exchanged;
    const waited = await awaitAnswer(o, waiting, isWaiting);
    if ('answer' in waited && !waited.answer) break;
    for (const announce of announcesIn(exchanged.answer)) await o.onAnnounce(announce);
    link = createLink(o);
    if ('moved' in waited) exchanged = standing(await followTask(o, link, waited.moved));
    else if (waited.answer) exchanged = await answerTo(o, link, delegation, waiting.id, waited.answer, false);
  }
  if (exchanged.kind === 'refused') return exchanged;
  if (exchanged.kind === 'unknown')
    return { kind: 'result', result: outcomeUnknown(o, delegation, exchanged) };
  const { answer } = exchanged;
  for (const announce of announcesIn(answer)) await o.onAnnounce(announce);
  if (exchanged.waiting) {
    const { waiting, declined: why } = exchanged;
    const canceled = await withdrawProse(o, { ...delegation, remoteTaskId: waiting.id });
    return { kind: 'result', result: unansweredResult(o, waiting, canceled, why) };
  }
  const judged = judge(answer, o);
  return { kind: 'result', result: (await repaired(o, link, delegation, judged)) ?? judged.result };
}

/** Asks the agent to stop; what the task came to there, where that can be learned. Never sends the work again. */
export async function withdrawProse(
  o: Pick<
    ProseOptions,
    'client' | 'endpoint' | 'traceparent' | 'taskId' | 'replySchema' | 'outputSchema' | 'log'
  >,
  delegation: Delegation,
): Promise<TaskResult | undefined> {
  const call = { timeoutMs: WITHDRAW_TIMEOUT_MS, traceparent: o.traceparent };
  const { messageId, contextId } = delegation;
  const endpoint = endpointOf(o, delegation);
  try {
    let id = delegation.remoteTaskId;
    if (id === undefined) {
      const listed = await o.client.listTasks(endpoint, contextId, call);
      id = listed.find(({ messageIds }) => messageIds.includes(messageId))?.task.id;
    }
    if (id === undefined) throw new FleetError('TASK_NOT_FOUND', 'the agent shows no task for the message');
    const task = await o.client.cancelTask(endpoint, id, call);
    return task.terminal ? judge(task, o).result : undefined;
  } catch (error) {
    o.log.warn(
      { peer: o.endpoint.name, err: error },
      'task at the agent could not be canceled: it may go on',
    );
    return undefined;
  }
}

interface Answered {
  readonly kind: 'answered';
  readonly answer: Answer;
  /** The task that waits for its caller, where that is how it ended. */
  readonly waiting?: PeerTask;
  /** Why it did not take the answer that it waits for. */
  readonly declined?: string;
}

/** A task that has ended, or waits for its caller; or that nobody knows about. */
function standing(task: PeerTask | Unknown): Answered | Unknown {
  if ('why' in task) return task;
  return { kind: 'answered', answer: task, ...(isWaiting(task) ? { waiting: task } : {}) };
}

/** The caller's answer to what a task there asks, told once, and what became of it. */
async function answerTo(
  o: ProseOptions,
  link: Link,
  { messageId, contextId }: Delegation,
  taskId: string,
  { statusId, ...answer }: PeerAnswer,
  mayBeThere: boolean,
): Promise<Answered | Unknown> {
  const message = { ...answer, contextId, taskId };
  const told = await tellOnce(o, link, message, messageId, mayBeThere);
  if (told.kind === 'unknown') return told;
  await o.dialogue.delivered();
  if (told.kind === 'message') return { kind: 'answered', answer: answerOf(told) };
  const isTaken = told.kind !== 'declined';
  const from = told.kind === 'task' ? told.task : taskId;
  const ended = await followTask(o, link, from, isTaken ? statusId : undefined);
  if ('why' in ended) return ended;
  const declined = told.kind === 'declined' ? ` (it did not take the answer: ${told.reason})` : undefined;
  return {
    kind: 'answered',
    answer: ended,
    ...(isWaiting(ended) ? { waiting: ended, ...(declined === undefined ? {} : { declined }) } : {}),
  };
}

/** One message, and what became of it. */
async function exchange(
  o: ProseOptions,
  link: Link,
  message: TextMessage,
  knownId: string | undefined,
  mayBeThere: boolean,
  answeredStatus?: string,
): Promise<Answered | Refused | Unknown> {
  let from: PeerTask | string | undefined = knownId;
  if (from === undefined) {
    const sent = await (mayBeThere ? lookFor(o, link, message) : sendOnce(o, link, message));
    if (sent.kind === 'message') return { kind: 'answered', answer: answerOf(sent) };
    if (sent.kind !== 'task' && sent.kind !== 'found') return sent;
    from = sent.kind === 'task' ? sent.task : sent.id;
    await o.onTaken(typeof from === 'string' ? from : from.id);
    if (typeof from !== 'string') await o.onTask(from);
  }
  return standing(await followTask(o, link, from, answeredStatus));
}

/** The result of a second message that asks for what the reply missed; undefined where there is none, or no use. */
async function repaired(
  o: ProseOptions,
  link: Link,
  delegation: Delegation,
  { result, missed }: Judged,
): Promise<TaskResult | undefined> {
  if (missed === undefined || o.remainingTokens() <= result.tokensSpent) return undefined;
  const { messageId, contextId } = addressOf(delegation);
  const message = { messageId: `${messageId}:repair`, contextId, text: repairText(o, missed) };
  let repairTask: string | undefined;
  const options = {
    ...o,
    onTaken: async (id: string) => {
      repairTask = id;
    },
  };
  try {
    const exchanged = await exchange(options, link, message, undefined, o.resumed);
    if (exchanged.kind !== 'answered') return undefined;
    if (exchanged.waiting) throw new FleetError('PEER_REFUSED', 'the agent asked back');
    const again = judge(exchanged.answer, o);
    // What has run cannot be blocked any more: nobody else may start it.
    if (!again.reported || again.result.status === 'blocked') return undefined;
    return merged(result, again.result);
  } catch (error) {
    if (!(error instanceof FleetError) || error.code === 'SHUTTING_DOWN') throw error;
    o.log.warn({ peer: o.endpoint.name, err: error }, 'a reply was not repaired: it stays partial');
    if (repairTask !== undefined) await withdrawProse(o, { ...delegation, remoteTaskId: repairTask });
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

function outcomeUnknown(o: ProseOptions, { contextId }: Delegation, { why }: Unknown): TaskResult {
  const { name } = o.endpoint;
  const message = `whether ${name} did the task is not known: ${why}. It would do the work a second time if it got it again, so it did not: look for context ${contextId} at ${name}, then dispatch anew what is missing, under a new task_id`;
  return {
    ...emptyResult(o.taskId),
    status: 'error',
    error: { code: 'outcome_unknown', message, retryable: false },
  };
}

function addressOf({ messageId, contextId }: Delegation): Pick<TextMessage, 'messageId' | 'contextId'> {
  return { messageId, contextId };
}

function textOf({ payload, peer }: Delegation): string {
  if (typeof payload.text === 'string') return payload.text;
  throw new FleetError('INTERNAL', `the delegation to ${peer} holds no text`);
}

/** The peer at the address where it was when the task went there; its token never goes to another host. */
function endpointOf(
  { endpoint }: Pick<ProseOptions, 'endpoint'>,
  { payload: { url } }: Delegation,
): PeerEndpoint {
  const isSame = typeof url === 'string' && new URL(url).origin === new URL(endpoint.url).origin;
  return isSame ? { ...endpoint, url } : endpoint;
}
