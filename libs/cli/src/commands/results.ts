import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { command, type Invocation, type Streams } from '../command-line/command.ts';
import { quote, UsageError } from '../command-line/option-values.ts';
import { printLines } from '../command-line/output.ts';
import { diffUsage, pullUsage, showUsage } from '../command-specs/tasks.ts';
import { type Applied, applyChanges } from '../results/apply-changes.ts';
import { createGit } from '../results/git.ts';
import { type KeptResult, keptResult } from '../results/kept-result.ts';
import { branchFor, checkName, type PulledBranch, pullBranch } from '../results/pull-branch.ts';
import { forTerminal, readPart, readText } from '../results/read-part.ts';
import { openRepository, type Repository, short } from '../results/repository.ts';
import { untilStopped } from '../results/until-stopped.ts';
import { namedTask } from '../task/find-task.ts';

type Call = Pick<Invocation<typeof showUsage.options>, 'values' | 'env'>;

/** The result of the task that a command names. */
async function keptBy(name: string, call: Call, id: string | undefined): Promise<KeptResult> {
  if (call.values.url !== undefined)
    throw new UsageError(`--url names an agent that is not of the fleet, whose results ${name} cannot read`);
  return keptResult(await namedTask(name, call, id === undefined ? [] : [id]));
}

const documentOf = ({ taskId, target, branch, base, commit }: KeptResult) => ({
  id: taskId,
  profile: target.name,
  branch,
  base,
  commit,
});

/** `fleet diff <id> [path]`: prints what a task changed (docs/cli.md#results). */
const diffCommand = command(diffUsage, async ({ positionals, values, env, stdout, print }) => {
  const [id, path, ...more] = positionals;
  if (more.length > 0 || path === '')
    throw new UsageError('diff takes the id of a task, and at most one path');
  const kept = await keptBy('diff', { values, env }, id);
  const part = { kind: 'diff', path, stat: values.stat === true } as const;
  if (print) print({ ...documentOf(kept), diff: await readText(kept, part) });
  else await write(readPart(kept, part), stdout, 'the diff is binary: fleet pull takes the result');
});

/** `fleet show <id> <path>`: prints a file as a task left it. */
const showCommand = command(showUsage, async ({ positionals, values, env, stdout }) => {
  const [id, path = '', ...more] = positionals;
  if (path === '' || more.length > 0)
    throw new UsageError('show takes the id of a task and the path of a file');
  const kept = await keptBy('show', { values, env }, id);
  const again = `fleet show ${id} ${quote(path)} > file`;
  await write(readPart(kept, { kind: 'file', path }), stdout, `${path} is not text: ${again} saves it`);
});

/** Writes bytes as they are, or for a terminal as text that cannot control it. */
async function write(
  content: AsyncIterable<Uint8Array>,
  stdout: Writable & Streams['stdout'],
  binary: string,
): Promise<void> {
  await pipeline(stdout.isTTY ? forTerminal(content, binary) : content, stdout, { end: false });
}

/** `fleet pull <id>`: takes the result of a task into the repository of the current folder (docs/cli.md#results). */
const pullCommand = command(pullUsage, async ({ positionals, values, env, stderr, show }) => {
  const { branch, apply = false } = values;
  if (apply && branch !== undefined) throw new UsageError('--apply makes no branch: leave out --branch');
  const [id, ...more] = positionals;
  if (more.length > 0) throw new UsageError('pull takes the id of one task');
  // First, because a request that waits is no work to clean up.
  const kept = await keptBy('pull', { values, env }, id);
  await untilStopped(
    async (signal) => {
      const repository = await openRepository(createGit(env, process.cwd(), signal));
      if (branch !== undefined) await checkName(repository, branch);
      if (apply) {
        const applied = await applyChanges(repository, kept);
        show({ ...documentOf(kept), applied }, () => renderApplied(applied));
      } else {
        const pulled = await pullBranch(repository, kept, branch ?? branchFor(kept.contextId));
        show({ ...documentOf(kept), pulled }, () => renderPulled(pulled, kept, repository));
      }
    },
    () => printLines(stderr, ['fleet: stopped: nothing was changed']),
  );
});

const renderApplied = ({ tree, files }: Applied): string[] =>
  files.length === 0
    ? [`${tree} has these changes already`]
    : [
        `${files.length} changed file${files.length === 1 ? '' : 's'} staged in ${tree}`,
        'to see it: git diff --staged',
        'to take it: git commit',
        'to undo it: git reset --hard',
      ];

function renderPulled(
  { branch, before, state }: PulledBranch,
  { commit, base }: KeptResult,
  { isBare, isEmpty }: Repository,
): string[] {
  const at = short(commit);
  const done = {
    created: `made the branch ${branch} at ${at}`,
    moved: `moved the branch ${branch} from ${short(before ?? '')} to ${at}`,
    unchanged: `the branch ${branch} has the result at ${at} already`,
  }[state];
  const name = quote(branch);
  const range = isEmpty || base === null ? name : `${short(base)}..${name}`;
  return [
    done,
    `to see it: git log -p ${range}`,
    ...(isBare ? [] : [isEmpty ? `to take it: git switch ${name}` : `to take it: git merge ${name}`]),
  ];
}

/** The commands that read the results of tasks. */
export const commands = [diffCommand, showCommand, pullCommand];
