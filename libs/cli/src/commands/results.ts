import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { FleetError } from '@hermes-fleet/protocol';
import { command, type Invocation, type Streams } from '../command-line/command.ts';
import { quote, UsageError } from '../command-line/option-values.ts';
import { printLines } from '../command-line/output.ts';
import { untilStopped } from '../command-line/until-stopped.ts';
import { diffUsage, pullUsage, showUsage } from '../command-specs/tasks.ts';
import { createGit } from '../git/git.ts';
import { openRepository, type Repository, short } from '../git/repository.ts';
import { type Applied, applyChanges } from '../results/apply-changes.ts';
import { type KeptResult, keptResult } from '../results/kept-result.ts';
import { branchFor, checkName, type PulledBranch, pullBranch } from '../results/pull-branch.ts';
import { forTerminal, notEmpty, readPart, readText } from '../results/read-part.ts';
import { namedTask } from '../task/find-task.ts';

type Call = Pick<Invocation<typeof showUsage.options>, 'values' | 'env'>;

/** The result of the task that a command names. */
const keptBy = async (name: string, call: Call, id: string | undefined): Promise<KeptResult> =>
  keptResult(await namedTask(name, call, id === undefined ? [] : [id]));

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
  const read = readPart(kept, { kind: 'diff', path, stat: values.stat === true });
  const nothing = `the task changed nothing at ${path}: fleet diff ${id} --stat lists what it changed`;
  const diff = path === undefined ? read : notEmpty(read, new FleetError('NO_RESULT', nothing));
  if (print) print({ ...documentOf(kept), diff: await readText(diff) });
  else await write(diff, stdout, 'the diff is binary: fleet pull takes the result');
});

/** `fleet show <id> <path>`: prints a file as a task left it. */
const showCommand = command(showUsage, async ({ positionals, values, env, stdout }) => {
  const [id, path = '', ...more] = positionals;
  if (path === '' || more.length > 0)
    throw new UsageError('show takes the id of a task and the path of a file');
  // No URL can end with these: they are taken out of it.
  if (path === '.' || path === '..') throw new UsageError(`show takes the path of a file: "${path}" is none`);
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

const REMEDIES = {
  none: "run this in that of the task's files",
  sha256: 'take the result in a repository of its own (git init)',
};

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
      const repository = await openRepository(createGit(env, process.cwd(), signal), REMEDIES);
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

function renderApplied({ tree, files, continues }: Applied): string[] {
  const earlier =
    continues === null
      ? []
      : [
          `this continues ${short(continues)}, which is not in HEAD: its earlier changes are not included; fleet pull takes all`,
        ];
  if (files.length === 0) return [`${tree} has these changes already`, ...earlier];
  return [
    `${files.length} changed file${files.length === 1 ? '' : 's'} staged in ${tree}`,
    ...earlier,
    'to see it: git diff --staged',
    'to take it: git commit',
    'to undo it: git reset --hard',
  ];
}

function renderPulled(
  { branch, before, state }: PulledBranch,
  { commit }: KeptResult,
  { isBare, isEmpty, hasHead }: Repository,
): string[] {
  const at = short(commit);
  const done = {
    created: `made the branch ${branch} at ${at}`,
    moved: `moved the branch ${branch} from ${short(before ?? '')} to ${at}`,
    unchanged: `the branch ${branch} has the result at ${at} already`,
  }[state];
  const name = quote(branch);
  return [
    done,
    // The range that a merge takes: the base is the word of the worker.
    `to see it: git log -p ${hasHead ? '..' : ''}${name}`,
    ...(isBare ? [] : [isEmpty ? `to take it: git switch ${name}` : `to take it: git merge ${name}`]),
  ];
}

/** The commands that read the results of tasks. */
export const commands = [diffCommand, showCommand, pullCommand];
