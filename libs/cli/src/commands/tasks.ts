import type { PeerTask } from '@hermes-fleet/a2a/client';
import type { Read } from '@hermes-fleet/net/api';
import { FleetError, isAsking } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { fleetApi } from '../client/api.ts';
import { askProfiles, nameSilent } from '../command-line/ask-profiles.ts';
import { command } from '../command-line/command.ts';
import { definedFields, oneArgument, UsageError, wholeNumber } from '../command-line/options.ts';
import { columns, printLines } from '../command-line/output.ts';
import { fleetClient, type ReachValues, reachable } from '../command-line/reachable.ts';
import { type Awaited, answerStream, awaitTask, finish } from '../task/await-task.ts';
import { type FoundTask, findTask } from '../task/find-task.ts';
import { type LeftFile, type SavedFile, type SaveOptions, saveArtifacts } from '../task/save-artifacts.ts';
import {
  answerUsage,
  cancelUsage,
  MAX_LIMIT,
  STATES,
  tasksUsage,
  taskUsage,
  watchUsage,
} from '../usage/tasks.ts';

const CALL_MS = 30_000;

/** `fleet tasks`: prints the newest tasks of the operator at one profile or at all, the latest change first. */
const listCommand = command(tasksUsage, async ({ values, env, stderr, print, show }) => {
  const { state, context } = values;
  if (state !== undefined && !STATES.includes(state))
    throw new UsageError(`--state must be one of ${STATES.join(', ')}, not "${state}"`);
  const pageSize = wholeNumber('limit', values.limit, 20);
  if (pageSize < 1 || pageSize > MAX_LIMIT) throw new UsageError(`--limit must be from 1 to ${MAX_LIMIT}`);
  const status = state === undefined ? undefined : `TASK_STATE_${state.toUpperCase()}`;
  const params = definedFields({ pageSize, status, contextId: context });
  const asked = await askProfiles(await reachable(fleetClient(), values, env), (target) =>
    fleetApi().rpc(target, LIST_TASKS, params),
  );
  const { answers, silent } = asked;
  const found = answers
    .flatMap(({ profile, answer }) => answer.tasks.map((task) => ({ profile, task })))
    .toSorted((a, b) => (changedAt(a.task) < changedAt(b.task) ? 1 : -1));
  show({ tasks: found, silent }, ({ tasks }) =>
    tasks.length === 0
      ? ['no task matches']
      : columns(
          ['changed', 'state', 'profile', 'context', 'task'],
          tasks.map(({ profile, task }) => [
            changedAt(task).replace(/\.\d+Z$/, 'Z'),
            task.status.state.replace(/^TASK_STATE_/, '').toLowerCase(),
            ...[profile, task.contextId, task.id],
          ]),
        ),
  );
  if (!print) nameSilent(stderr, asked, 'not listed');
  return silent.length > 0 ? 1 : 0;
});

/** The fields of A2A that the list shows. */
const Task = z.object({
  id: z.string(),
  contextId: z.string().optional(),
  status: z.object({ state: z.string(), timestamp: z.string().optional() }),
});
const LIST_TASKS = { method: 'ListTasks', answer: z.object({ tasks: z.array(Task) }) };

const changedAt = ({ status }: Read<typeof Task>): string => status.timestamp ?? '-';

/** Finds the task that the first argument names. */
async function named(
  name: string,
  positionals: readonly string[],
  values: ReachValues,
  env: NodeJS.ProcessEnv,
): Promise<FoundTask & { readonly client: ReturnType<typeof fleetClient> }> {
  const id = oneArgument(positionals, `${name} takes the id of one task`);
  const client = fleetClient();
  return { client, ...(await findTask(client, await reachable(client, values, env), id)) };
}

/**
 * `fleet task <id>`: prints a task as it is now, or saves its artifacts. Exit code 0 whatever its state; 1 if a part was not
 * saved.
 */
const showCommand = command(taskUsage, async ({ values, positionals, env, stdout, stderr, print }) => {
  const { artifacts: folder, force = false } = values;
  if (folder === undefined && force) throw new UsageError('--force needs --artifacts');
  const { client, at, task } = await named('task', positionals, values, env);
  if (folder !== undefined) return saved({ client, at, folder, force }, task, { stdout, stderr, print });
  finish({ at, stdout, print }, task);
  return 0;
});

/** Saves the artifacts of a task, and prints the path of each file when it is written. */
async function saved(
  options: Omit<SaveOptions, 'onSaved' | 'onLeft'>,
  task: PeerTask,
  { stdout, stderr, print }: Pick<Awaited, 'stdout' | 'stderr' | 'print'>,
): Promise<number> {
  const files: SavedFile[] = [];
  const left: LeftFile[] = [];
  await saveArtifacts(
    {
      ...options,
      onSaved: (file) => {
        files.push(file);
        if (!print) printLines(stdout, [file.path]);
      },
      onLeft: (file) => {
        left.push(file);
        const { name, url, reason } = file;
        if (!print) printLines(stderr, [`not saved: ${name}${url === null ? '' : ` at ${url}`}: ${reason}`]);
      },
    },
    task,
  );
  if (print) print({ id: task.id, profile: options.at.name, saved: files, not_saved: left });
  else if (files.length + left.length === 0) printLines(stderr, ['the task has no artifacts']);
  return left.length > 0 ? 1 : 0;
}

/** `fleet watch <id>`: shows a task until it ends, as `fleet send` does. */
const watchCommand = command(
  watchUsage,
  async ({ values, positionals, env, stdin, stdout, stderr, print }) => {
    const { client, at, task } = await named('watch', positionals, values, env);
    if (task.terminal) return finish({ at, stdout, print }, task);
    return awaitTask({ client, at, env, stdin, stdout, stderr, print }, task.id);
  },
);

/** `fleet cancel <id>`: cancels a task and prints it. */
const cancelCommand = command(cancelUsage, async ({ values, positionals, env, stdout, print }) => {
  const { client, at, task } = await named('cancel', positionals, values, env);
  finish({ at, stdout, print }, await client.cancelTask(at.endpoint, task.id, { timeoutMs: CALL_MS }));
  return 0;
});

/** `fleet answer <id> <text>`: answers the question of a task, and watches it. */
const answerCommand = command(
  answerUsage,
  async ({ values, positionals, env, stdin, stdout, stderr, print }) => {
    const [id = '', answer, ...more] = positionals;
    if (answer === undefined || answer.trim() === '' || more.length > 0)
      throw new UsageError('answer takes the id of a task and one text: quote it');
    const found = await named('answer', [id], values, env);
    const { client, at, task } = found;
    if (!isAsking(task.state))
      throw new FleetError(
        'INVALID_PARAMS',
        `task ${task.id} asks nothing: it is ${task.state.replaceAll('_', ' ')}`,
      );
    const stream = answerStream({ client, at }, task, answer);
    if (values.detach !== true)
      return awaitTask({ client, at, env, stdin, stdout, stderr, print }, task.id, stream);
    const { value: now } = await stream.next();
    finish({ at, stdout, print }, now ?? task);
    return 0;
  },
);

/** The commands about tasks that exist. */
export const commands = [listCommand, showCommand, watchCommand, cancelCommand, answerCommand];
