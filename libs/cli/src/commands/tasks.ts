import type { PeerTask } from '@hermes-fleet/a2a/client';
import { definedFields, FleetError, isAsking, TASK_STATES } from '@hermes-fleet/protocol';
import { command, type Invocation, type Streams } from '../command-line/command.ts';
import { UsageError, wholeNumber } from '../command-line/option-values.ts';
import { printLines, table } from '../command-line/output.ts';
import {
  answerUsage,
  cancelUsage,
  MAX_LIMIT,
  tasksUsage,
  taskUsage,
  watchUsage,
} from '../command-specs/tasks.ts';
import { nameSilent } from '../running/ask-profiles.ts';
import { fleetClient, type Reachable, reachable } from '../running/reachable.ts';
import { type Awaited, answerStream, awaitTask, finish } from '../task/await-task.ts';
import { namedTask } from '../task/find-task.ts';
import { changedAt, listTasks } from '../task/list-tasks.ts';
import { deliveredResult, howToTake } from '../task/result.ts';
import { type LeftFile, type SavedFile, type SaveOptions, saveArtifacts } from '../task/save-artifacts.ts';

const CALL_MS = 30_000;

/** The states of A2A that a task of the fleet can have, by their short names. */
const STATES: readonly string[] = [...new Set(Object.values(TASK_STATES).map(({ a2a }) => a2a))];

/** `fleet tasks`: prints the newest tasks of the operator at one profile or at all, the latest change first. */
const listCommand = command(tasksUsage, async ({ values, env, stderr, print, show }) => {
  const { state, context } = values;
  if (state !== undefined && !STATES.includes(state))
    throw new UsageError(`--state must be one of ${STATES.join(', ')}, not "${state}"`);
  const pageSize = wholeNumber('limit', values.limit, 20, [1, MAX_LIMIT]);
  const status = state === undefined ? undefined : `TASK_STATE_${state.toUpperCase()}`;
  const params = definedFields({ pageSize, status, contextId: context });
  const among = await reachable(fleetClient(), values, env);
  const { tasks: found, asked } = await listTasks(among, params);
  const { silent } = asked;
  show({ tasks: found, silent }, ({ tasks }) =>
    table(
      ['changed', 'state', 'profile', 'context', 'task'],
      tasks.map(({ profile, task }) => [
        changedAt(task).replace(/\.\d+Z$/, 'Z'),
        task.status.state.replace(/^TASK_STATE_/, '').toLowerCase(),
        ...[profile, task.contextId, task.id],
      ]),
      'no task matches',
    ),
  );
  if (!print) nameSilent(stderr, asked, 'not listed');
  return silent.length > 0 ? 1 : 0;
});

type TaskCall = Streams & Pick<Invocation<typeof watchUsage.options>, 'values' | 'env' | 'print'>;

/** The call of a command about a task, with the task that its first argument names. */
async function named<T extends TaskCall>(name: string, call: T, positionals: readonly string[]) {
  return { ...call, ...(await namedTask(name, call, positionals)) };
}

/**
 * `fleet task <id>`: prints a task as it is now, or saves its artifacts. Exit code 0 whatever its state; 1 if a part was not
 * saved.
 */
const showCommand = command(taskUsage, async (call) => {
  const { artifacts: folder, force = false } = call.values;
  if (folder === undefined && force) throw new UsageError('--force needs --artifacts');
  const found = await named('task', call, call.positionals);
  if (folder !== undefined) return saved({ ...found, folder, force }, found.task);
  finish(found, found.task);
  return 0;
});

/** Saves the artifacts of a task, and prints the path of each file when it is written. */
async function saved(
  options: SaveOptions & Pick<Awaited, 'stdout' | 'stderr' | 'print'>,
  task: PeerTask,
): Promise<number> {
  const { stdout, stderr, print } = options;
  const files: SavedFile[] = [];
  const left: LeftFile[] = [];
  for await (const file of saveArtifacts(options, task)) {
    if ('path' in file) {
      files.push(file);
      if (!print) printLines(stdout, [file.path]);
    } else {
      left.push(file);
      const { name, url, reason } = file;
      if (!print) printLines(stderr, [`not saved: ${name}${url === null ? '' : ` at ${url}`}: ${reason}`]);
    }
  }
  if (print) {
    const { filesChanged = [], delivery = null } = deliveredResult(task)?.artifacts ?? {};
    const changed = { files_changed: filesChanged, delivery };
    print({ id: task.id, profile: options.at.name, saved: files, not_saved: left, ...changed });
  } else if (files.length + left.length === 0) printLines(stderr, withoutArtifacts(task, options.at));
  return left.length > 0 ? 1 : 0;
}

function withoutArtifacts(task: PeerTask, at: Reachable): string[] {
  const files = deliveredResult(task)?.artifacts.filesChanged.length ?? 0;
  if (files === 0) return ['the task has no artifacts'];
  return [
    `the task has no artifacts; it changed ${files} file${files === 1 ? '' : 's'} of its repository`,
    ...howToTake(task, at),
  ];
}

/** `fleet watch <id>`: shows a task until it ends, as `fleet send` does. */
const watchCommand = command(watchUsage, async (call) => {
  const found = await named('watch', call, call.positionals);
  return found.task.terminal ? finish(found, found.task) : awaitTask(found, found.task.id);
});

/** `fleet cancel <id>`: cancels a task and prints it. */
const cancelCommand = command(cancelUsage, async (call) => {
  const found = await named('cancel', call, call.positionals);
  const { client, at, task } = found;
  finish(found, await client.cancelTask(at.endpoint, task.id, { timeoutMs: CALL_MS }));
});

/** `fleet answer <id> <text>`: answers the question of a task, and watches it. */
const answerCommand = command(answerUsage, async (call) => {
  const [id = '', answer, ...more] = call.positionals;
  if (answer === undefined || answer.trim() === '' || more.length > 0)
    throw new UsageError('answer takes the id of a task and one text: quote it');
  const found = await named('answer', call, [id]);
  const { task } = found;
  if (!isAsking(task.state))
    throw new FleetError(
      'INVALID_PARAMS',
      `task ${task.id} asks nothing: it is ${task.state.replaceAll('_', ' ')}`,
    );
  const stream = answerStream(found, task, answer);
  if (call.values.detach !== true) return awaitTask(found, task.id, stream);
  const { value: now } = await stream.next();
  finish(found, now ?? task);
  return 0;
});

/** The commands about tasks that exist. */
export const commands = [listCommand, showCommand, watchCommand, cancelCommand, answerCommand];
