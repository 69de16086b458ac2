import { randomUUID } from 'node:crypto';
import { isCancel, select, text } from '@clack/prompts';
import { type A2AClient, type PeerReply, type PeerTask, peerErrorCode } from '@hermes-fleet/a2a/client';
import { FleetError, isAsking } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import type { Invocation, OptionSpecs, Streams } from '../command-line/command.ts';
import { printLines, sanitize } from '../command-line/output.ts';
import type { Reachable } from '../running/reachable.ts';
import { followTask } from './follow.ts';
import { createLiveView, type LiveView, screenOf } from './live-view.ts';
import { exitCodeOf, howToTake, renderTask, taskDocument } from './result.ts';

const CALL_MS = 30_000;

export interface Awaited extends Streams {
  readonly client: A2AClient;
  readonly at: Reachable;
  readonly env: NodeJS.ProcessEnv;
  readonly print: Invocation<OptionSpecs>['print'];
  /** Milliseconds since the epoch. */
  readonly deadlineAt?: number | undefined;
  /** Ends the stream that the caller has opened, when the user leaves. */
  readonly leaving?: AbortController;
}

/** The caller leaves the task to itself. */
class Detached extends Error {}

/**
 * Shows a task until it ends, then prints its result; returns the exit code (docs/cli.md#exit-codes). On a terminal, Ctrl-C
 * asks whether to detach or to cancel, and a question of the task is asked there. `first` yields the snapshots of the
 * stream that is open already; it may yield nothing.
 */
export async function awaitTask(
  options: Awaited,
  id: string,
  first?: AsyncIterable<PeerTask>,
): Promise<number> {
  const { client, at, env, stdin, stderr, print } = options;
  const screen = screenOf(stderr, env);
  const isInteractive = screen.isTerminal && print === undefined && stdin().isTTY === true;
  const { leaving = new AbortController() } = options;
  const silent = { ...screen, isTerminal: false, write: () => undefined };
  using view = createLiveView(print === undefined ? screen : silent, systemClock, options.deadlineAt);
  // Two prompts at once would share the keys that are typed, so there is one at a time.
  let isAnswering = false;
  let menu: Promise<void> | undefined;
  const ended = new AbortController();
  const onInterrupt = (): void => {
    if (menu !== undefined || isAnswering) return;
    menu = askHowToLeave(options, id, view, ended.signal)
      .then(
        (leaves) => leaves && leaving.abort(new Detached()),
        (error: unknown) => leaving.abort(error),
      )
      .then(() => {
        menu = undefined;
      });
  };
  const closeMenu = async (): Promise<void> => {
    ended.abort();
    await menu;
  };
  if (isInteractive) process.on('SIGINT', onInterrupt);
  const follow = (source?: AsyncIterable<PeerTask>): Promise<PeerTask> =>
    followTask(
      {
        client,
        clock: systemClock,
        peer: at.endpoint,
        streams: at.streams,
        signal: leaving.signal,
        onUpdate: (task) => view.update(task),
      },
      id,
      source,
    );
  try {
    let task = await follow(first);
    while (isInteractive && isAsking(task.state)) {
      if (menu !== undefined) {
        await menu;
        // The user may have left or canceled the task meanwhile.
        task = await follow();
        continue;
      }
      view.pause();
      isAnswering = true;
      const answer = await text({
        message: sanitize(task.statusText || 'The task asks for your answer'),
        input: stdin(),
        output: stderr,
      });
      isAnswering = false;
      if (isCancel(answer)) break;
      view.resume();
      task = await follow(answerStream(options, task, answer));
    }
    await closeMenu();
    view[Symbol.dispose]();
    return finish(options, task);
  } catch (error) {
    await closeMenu();
    view[Symbol.dispose]();
    if (!(error instanceof Detached)) throw error;
    stderr.write(`the task goes on: fleet watch ${sanitize(id)}${at.again}\n`);
    return 0;
  } finally {
    process.off('SIGINT', onInterrupt);
  }
}

/** Prints the result of a task, or its question and how to answer it. Returns the exit code. */
export function finish(
  { at, stdout, print }: Pick<Awaited, 'at' | 'stdout' | 'print'>,
  task: PeerTask,
): number {
  if (print) print(taskDocument(task, at.name));
  else {
    printLines(stdout, renderTask(task));
    const next = howToTake(task, at);
    if (next.length > 0) printLines(stdout, ['', ...next]);
    if (isAsking(task.state)) printLines(stdout, ['', `to answer: fleet answer ${task.id} "…"${at.again}`]);
  }
  return exitCodeOf(task);
}

/** Sends the answer to the question of a task; yields the snapshots that follow. */
export async function* answerStream(
  { client, at }: Pick<Awaited, 'client' | 'at'>,
  task: PeerTask,
  answer: string,
): AsyncGenerator<PeerTask> {
  const message = {
    messageId: randomUUID(),
    taskId: task.id,
    contextId: task.contextId,
    text: answer,
    blocking: false,
  };
  // Not streamed: whether the answer has arrived must be known, and a stream that breaks leaves it open.
  const reply = await client.send(at.endpoint, message, { timeoutMs: CALL_MS, isOnce: true });
  if (reply.kind === 'task' && !isAsking(reply.task.state)) yield reply.task;
}

/**
 * True if the caller leaves: the task goes on. After a cancel, the stream tells its end. `ended` closes the menu, as an answer
 * to it would have no effect.
 */
async function askHowToLeave(
  { client, at, stdin, stderr }: Awaited,
  id: string,
  view: LiveView,
  ended: AbortSignal,
): Promise<boolean> {
  view.pause();
  const choice = await select({
    message: 'The task is not done',
    options: [
      { value: 'detach', label: 'detach: it goes on, and fleet watch shows it again' },
      { value: 'cancel', label: 'cancel it' },
      { value: 'stay', label: 'go on watching' },
    ],
    input: stdin(),
    output: stderr,
    signal: ended,
  });
  if (ended.aborted) return false;
  if (choice === 'detach' || isCancel(choice)) return true;
  if (choice === 'cancel')
    await client.cancelTask(at.endpoint, id, { timeoutMs: CALL_MS }).catch((error: unknown) => {
      // One that has ended meanwhile is left as it is.
      if (peerErrorCode(error) !== 'TASK_NOT_CANCELABLE') throw error;
    });
  view.resume();
  return false;
}

export interface Opened {
  readonly reply: PeerReply;
  /** The snapshots of the stream that is open; undefined without one. */
  readonly tasks: AsyncIterable<PeerTask> | undefined;
}

/** The first reply of a stream, and the snapshots after it. Throws PEER_REFUSED for a stream without a reply. */
export async function openStream(replies: AsyncIterableIterator<PeerReply>): Promise<Opened> {
  const { value: reply, done } = await replies.next();
  if (done === true) throw new FleetError('PEER_REFUSED', 'the agent answered with nothing');
  async function* tasks(): AsyncGenerator<PeerTask> {
    if (reply.kind === 'task') yield reply.task;
    for await (const next of replies) if (next.kind === 'task') yield next.task;
  }
  return { reply, tasks: tasks() };
}
