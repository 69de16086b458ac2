import { open } from 'node:fs/promises';
import type { Git, GitPlace } from '../git/git.ts';
import type { CommandResult } from '../process/run-command.ts';
import type { Base } from '../stores/base.ts';
import { MAX_FILE_BYTES } from '../stores/quarantine.ts';
import type { ResultCommit } from '../stores/result-commit.ts';
import type { Results } from '../stores/results.ts';
import { LACKS, LEAVE_OUT, SET_UP, TAKE_COMMIT } from './scripts.ts';

/** The repository of a context's tree, and the stores that it is made from. */
export interface TreeRepository {
  readonly git: Git;
  readonly place: GitPlace;
  readonly base: Base;
  readonly results: Results;
}

const BUILD_MS = 10 * 60_000;

/** Makes the repository at a result. Resolves with how SET_UP ended. */
export async function buildRepository(
  { git, place, base, results }: TreeRepository,
  at: {
    readonly branch: string;
    /** The commit that the context started from. */
    readonly from: string;
    readonly tip: string;
    readonly files: 'checkout' | 'keep';
  },
): Promise<CommandResult> {
  const { branch, from, tip, files } = at;
  await using pack = results.passing();
  const hasPack = tip !== from;
  if (hasPack) await results.give(pack.file, tip, from);
  await using stdin = hasPack ? await open(pack.file, 'r') : undefined;
  const args = [base.objects, branch, tip, files, String(MAX_FILE_BYTES), hasPack ? 'pack' : '', LEAVE_OUT];
  const call = { timeoutMs: BUILD_MS, stdin: stdin?.fd };
  return await git.script(place, SET_UP, [...args, ...(await base.shallow())], call);
}

/** Makes the commit of a result that of the tree. Resolves with how TAKE_COMMIT ended. */
export async function takeCommit(
  { git, place, results }: TreeRepository,
  { id, parent, content = '' }: ResultCommit,
  from: string,
): Promise<CommandResult> {
  const taken = await git.script(place, TAKE_COMMIT, [id, parent, content, '']);
  if (taken.exitCode !== LACKS) return taken;
  await using pack = results.passing();
  await results.give(pack.file, id, from);
  await using stdin = await open(pack.file, 'r');
  return await git.script(place, TAKE_COMMIT, [id, parent, '', 'pack'], {
    stdin: stdin.fd,
    timeoutMs: BUILD_MS,
  });
}
