import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { A2AClient, OutboundMessage, PeerReply } from '@hermes-fleet/a2a/client';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { type Checkout, openCheckout } from '../checkout/open-checkout.ts';
import { receiverAt, sendCheckout, worksOn } from '../checkout/send-checkout.ts';
import type { Target } from '../client/api.ts';
import { command, type Invocation, type Values } from '../command-line/command.ts';
import { dispatchOf, isCheckoutPath, withRepository } from '../command-line/dispatch-options.ts';
import { UsageError } from '../command-line/option-values.ts';
import { printLines } from '../command-line/output.ts';
import { untilStopped } from '../command-line/until-stopped.ts';
import { DISPATCHED, sendUsage } from '../command-specs/tasks.ts';
import { createGit } from '../git/git.ts';
import { ORCHESTRATOR } from '../keys/layout.ts';
import { fleetClient, type Reachable, reachable } from '../running/reachable.ts';
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
import { blockedAt, type Decision, renderBlocked } from '../task/route-verdict.ts';

const SEND_MS = 30_000;
const EXIT_BLOCKED = 3;

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
  const ready = described ? await readyDispatch(described, checkout, at, call) : undefined;
  if (ready?.blocked !== undefined) {
    const { blocked, hint } = ready;
    call.show(blocked, () => [...renderBlocked(blocked), ...(hint === undefined ? [] : [`hint: ${hint}`])]);
    return EXIT_BLOCKED;
  }
  const message = {
    messageId: randomUUID(),
    ...(ready ? { data: ready.dispatch } : { text: brief }),
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

type Ready =
  | { readonly dispatch: JsonObject; readonly blocked?: undefined }
  | { readonly blocked: Decision; readonly hint: string | undefined };

/**
 * The dispatch as it is sent, once its checkout is. One that nobody can do is not sent if it is of a checkout, or if its repository
 * may be meant as one. A task that may have been sent before is not judged again.
 */
async function readyDispatch(
  described: JsonObject,
  checkout: Checkout | undefined,
  { target }: Reachable,
  call: Pick<Invocation<typeof sendUsage.options>, 'values' | 'stderr'>,
): Promise<Ready> {
  const { repo = '', 'task-id': taskId } = call.values;
  if (target === undefined) throw new UsageError('--url takes no checkout');
  const judged = async (dispatch: JsonObject) =>
    taskId === undefined ? blockedAt(target, dispatch) : undefined;
  if (checkout !== undefined) return withCheckout(described, checkout, target, judged, call);
  const blocked = repo !== '' && existsSync(join(repo, '.git')) ? await judged(described) : undefined;
  if (blocked === undefined) return { dispatch: described };
  return { blocked, hint: `--repo ./${repo} sends the checkout in that folder` };
}

/** Sends a checkout to the profile that takes the task. */
async function withCheckout(
  described: JsonObject,
  checkout: Checkout,
  target: Target,
  judged: (dispatch: JsonObject) => Promise<Decision | undefined>,
  { values, stderr }: Pick<Invocation<typeof sendUsage.options>, 'values' | 'stderr'>,
): Promise<Ready> {
  const { 'include-changes': includesChanges = false, whole: isWhole = false } = values;
  const to = await receiverAt(target, values.context);
  return untilStopped(
    async (signal): Promise<Ready> => {
      const own = { ...checkout, git: createGit(checkout.git.env, checkout.git.cwd, signal) };
      const on = await worksOn(own, to, isWhole);
      const { name } = on;
      const blocked = await judged(name === undefined ? described : withRepository(described, { name }));
      if (blocked !== undefined) {
        const canBeWhole =
          name !== undefined && to.context === undefined && (await judged(described)) === undefined;
        const hint = `--whole sends all of it to a worker without the repository "${name}"`;
        return { blocked, hint: canBeWhole ? hint : undefined };
      }
      const say = (line: string) => printLines(stderr, [line]);
      const repository = await sendCheckout({ checkout: own, includesChanges, to, on, say });
      return { dispatch: withRepository(described, repository) };
    },
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
