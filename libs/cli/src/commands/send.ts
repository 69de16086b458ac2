import { randomUUID } from 'node:crypto';
import type { A2AClient, OutboundMessage, PeerReply } from '@hermes-fleet/a2a/client';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { type Checkout, openCheckout } from '../checkout/open-checkout.ts';
import { receiverAt, sendCheckout } from '../checkout/send-checkout.ts';
import { command, type Invocation, type Values } from '../command-line/command.ts';
import { dispatchOf, isCheckoutPath, withRepository } from '../command-line/dispatch-options.ts';
import { UsageError } from '../command-line/option-values.ts';
import { printLines } from '../command-line/output.ts';
import { fleetClient, type Reachable, reachable } from '../command-line/reachable.ts';
import { untilStopped } from '../command-line/until-stopped.ts';
import { DISPATCHED, sendUsage } from '../command-specs/tasks.ts';
import { createGit } from '../git/git.ts';
import { ORCHESTRATOR } from '../keys/layout.ts';
import { type Awaited, awaitTask, finish, type Opened, openStream } from '../task/await-task.ts';
import {
  deadlineOf,
  MAX_FILES_BYTES,
  MAX_PROFILE_FILES_BYTES,
  readAttachments,
  readBrief,
  readSchema,
} from '../task/brief.ts';
import { IDLE_MS } from '../task/follow.ts';
import { type HandOverOptions, handOver } from '../task/hand-over.ts';
import { taskDocument } from '../task/result.ts';

const SEND_MS = 30_000;

type SendValues = Values<typeof sendUsage.options>;

/** `fleet send`: dispatches a brief, shows the task while it runs, and prints its result (docs/cli.md#send-a-task-fleet-send). */
const sendCommand = command(sendUsage, async (call) => {
  const { values, positionals, env, stdin } = call;
  refuseContract(values);
  const deadlineAt =
    values.deadline === undefined ? undefined : deadlineOf(values.deadline, systemClock.now());
  const files = readAttachments(
    values.file,
    values.url === undefined ? MAX_PROFILE_FILES_BYTES : MAX_FILES_BYTES,
  );
  const schema = values.schema === undefined ? undefined : readSchema(values.schema);
  const checkout = await checkoutOf(values, env);
  // After all that may be wrong: a brief that was written in an editor is not lost.
  const brief = await readBrief(positionals, env, stdin);
  const described = values.url === undefined && dispatch(values, brief, deadlineAt, schema);
  const client = fleetClient();
  const at = receiverOf(await reachable(client, values, env));
  const repository = checkout && (await sent(checkout, at, call));
  const message = {
    messageId: randomUUID(),
    ...(described
      ? { data: repository ? withRepository(described, repository) : described }
      : { text: brief }),
    contextId: values.context,
    parts: files,
  };
  const awaited: Awaited = { ...call, client, at, deadlineAt };
  if (values.detach === true) return detach(awaited, { ...message, blocking: false });
  return watch(awaited, { ...message, blocking: true });
});

export const commands = [sendCommand];

function refuseContract(values: SendValues): void {
  if (values.url === undefined) return;
  const given = Object.keys(DISPATCHED).filter((name) => name in values);
  if (given.length > 0)
    throw new UsageError(
      `--url sends plain text, which cannot carry ${given.map((name) => `--${name}`).join(', ')}`,
    );
}

/** The checkout that `--repo` names, judged here alone. */
async function checkoutOf(values: SendValues, env: NodeJS.ProcessEnv): Promise<Checkout | undefined> {
  const { repo } = values;
  if (isCheckoutPath(repo)) return openCheckout(env, repo, new AbortController().signal);
  for (const option of ['include-changes', 'whole'] as const)
    if (values[option]) throw new UsageError(`--${option} goes with --repo and the path of a checkout`);
  return undefined;
}

/** Sends a checkout to the profile that takes the task; resolves with the repository of the task. */
async function sent(
  checkout: Checkout,
  { target }: Reachable,
  { values, stderr }: Pick<Invocation<typeof sendUsage.options>, 'values' | 'stderr'>,
): Promise<JsonObject> {
  if (target === undefined) throw new UsageError('--url takes no checkout');
  const to = await receiverAt(target, values.context);
  const { 'include-changes': includesChanges = false, whole: isWhole = false } = values;
  return untilStopped(
    async (signal) =>
      sendCheckout({
        checkout: { ...checkout, git: createGit(checkout.git.env, checkout.git.cwd, signal) },
        includesChanges,
        isWhole,
        to,
        say: (line) => printLines(stderr, [line]),
      }),
    () => printLines(stderr, ['fleet: stopped: no task was sent']),
  );
}

/** The profile that takes the task: the one that is named, else the orchestrator. */
function receiverOf(among: readonly Reachable[]): Reachable {
  const [only] = among;
  const at = among.length === 1 ? only : among.find(({ name }) => name === ORCHESTRATOR);
  if (at) return at;
  throw new UsageError(`say which --profile takes the task: ${among.map(({ name }) => name).join(', ')}`);
}

function dispatch(
  values: SendValues,
  brief: string,
  deadlineAt: number | undefined,
  schema: JsonObject | undefined,
): JsonObject {
  const { to, deadline: _, schema: __, ...contract } = values;
  const described = {
    ...contract,
    brief,
    ...(to === undefined ? {} : { target: to }),
    ...(deadlineAt === undefined ? {} : { deadline: new Date(deadlineAt).toISOString() }),
  };
  const built = dispatchOf(described, 'to');
  if (schema === undefined || !isJsonObject(built.task)) return built;
  return { ...built, task: { ...built.task, reply_schema: 'json', output_schema: schema } };
}

async function watch(awaited: Awaited, message: OutboundMessage): Promise<number> {
  const { client, at } = awaited;
  const leaving = new AbortController();
  const { reply, tasks } = await handOver(deliveryOf(at, message), () =>
    openReply(client, at, message, leaving.signal),
  );
  if (reply.kind === 'message') return finishMessage(awaited, reply);
  if (reply.task.terminal) return finish(awaited, reply.task);
  const { id, contextId } = reply.task;
  if (!awaited.print) printLines(awaited.stderr, [`task ${id} in context ${contextId}`]);
  return awaitTask({ ...awaited, leaving }, id, tasks);
}

/** Sends the message; an agent without streams gets it as one that it may answer at once. */
async function openReply(
  client: A2AClient,
  { endpoint, streams }: Reachable,
  message: OutboundMessage,
  signal: AbortSignal,
): Promise<Opened> {
  if (streams) return openStream(client.stream(endpoint, message, { signal, idleTimeoutMs: IDLE_MS }));
  const sent = { ...message, blocking: false };
  return { reply: await client.send(endpoint, sent, { timeoutMs: SEND_MS, isOnce: true }), tasks: undefined };
}

async function detach(awaited: Awaited, message: OutboundMessage): Promise<number> {
  const { client, at, stdout, print } = awaited;
  const options = { timeoutMs: SEND_MS, isOnce: true };
  const reply = await handOver(deliveryOf(at, message), () => client.send(at.endpoint, message, options));
  if (reply.kind === 'message') return finishMessage(awaited, reply);
  if (reply.task.terminal) return finish(awaited, reply.task);
  const { id, contextId } = reply.task;
  if (print) print(taskDocument(reply.task, at.name));
  else printLines(stdout, [`task ${id} in context ${contextId}`, `to see it: fleet watch ${id}${at.again}`]);
  return 0;
}

const deliveryOf = (at: Reachable, { data }: OutboundMessage): HandOverOptions => ({
  clock: systemClock,
  at,
  taskId: isJsonObject(data?.task) ? String(data.task.task_id) : '-',
});

/** An agent may answer with a message and make no task. */
function finishMessage(
  { at, stdout, print }: Pick<Awaited, 'at' | 'stdout' | 'print'>,
  reply: Extract<PeerReply, { kind: 'message' }>,
): number {
  const { text, data, contextId } = reply;
  if (print) print({ profile: at.name, context_id: contextId ?? null, text, data });
  else printLines(stdout, [...text.split('\n'), ...data.map((each) => JSON.stringify(each))]);
  return 0;
}
