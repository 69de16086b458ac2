import { failure, saidBy } from '../git/git.ts';
import { type Repository, short } from '../git/repository.ts';
import type { KeptResult } from './kept-result.ts';
import { receiveResult } from './receive-result.ts';

/** What became of a branch. `before` is its commit before, null where there was none. */
export interface PulledBranch {
  readonly branch: string;
  readonly before: string | null;
  readonly state: 'created' | 'moved' | 'unchanged';
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const MAX_NAME = 60;

/**
 * The branch for the results of a context. Of a UUID it has the last eight characters: those of a UUIDv7 are random, and the first
 * ones are the same for all contexts of a minute.
 */
export function branchFor(contextId: string): string {
  if (UUID.test(contextId)) return `fleet/${contextId.slice(-8).toLowerCase()}`;
  const name = contextId
    .replaceAll(/[^\w.-]+/g, '-')
    .replaceAll(/\.{2,}/g, '.')
    .slice(0, MAX_NAME)
    .replaceAll(/^[-.]+|[-.]+$|\.lock$/g, '');
  return `fleet/${name || 'result'}`;
}

/** Throws INVALID_PARAMS for a name that git takes for no branch, or for that of another one, as `@{-1}`, and for that of a ref. */
export async function checkName({ git }: Repository, branch: string): Promise<void> {
  if (branch.startsWith('refs/'))
    throw failure(`--branch takes the name of a branch without refs/heads/, not "${branch}"`);
  const { code, stdout } = await git.exec(['check-ref-format', '--branch', branch]);
  if (code !== 0 || stdout !== `${branch}\n`)
    throw failure(`--branch: git takes no branch named "${branch}"`);
}

/**
 * Makes a branch at the commit of a result, or moves it there by fast-forward. Throws INVALID_PARAMS, and changes nothing, where the branch
 * has other commits or is checked out; and as `receiveResult`.
 */
export async function pullBranch(
  repository: Repository,
  kept: KeptResult,
  branch: string,
): Promise<PulledBranch> {
  const { git } = repository;
  const { before, tree } = await readBranch(repository, branch);
  const contains = (of: string, commit: string, env?: Readonly<Record<string, string>>) =>
    git.ask(['merge-base', '--is-ancestor', commit, of], { env });
  if (before !== null && (await contains(before, kept.commit))) return { branch, before, state: 'unchanged' };
  if (tree !== undefined)
    throw failure(
      `the branch ${branch} is checked out in ${tree}, whose files would not follow it: switch to another branch there, or name another one with --branch and merge that`,
    );
  await receiveResult(repository, kept, async (env) => {
    if (before === null || (await contains(kept.commit, before, env))) return;
    throw failure(
      `the branch ${branch} is at ${short(before)}, which the result at ${short(kept.commit)} does not continue: nothing was changed; name another branch with --branch`,
    );
  });
  const from = before ?? '0'.repeat(kept.commit.length);
  const { code, stderr } = await git.exec(
    ['update-ref', '-m', `fleet pull: task ${kept.taskId}`, `refs/heads/${branch}`, kept.commit, from],
    { isWhole: true },
  );
  if (code !== 0) {
    // A branch whose name is a folder of this one, or the other way round.
    const remedy = stderr.includes('exists; cannot create') ? '; --branch names another one' : '';
    throw failure(`the branch ${branch} cannot be written${remedy}: ${saidBy(stderr)}`);
  }
  return { branch, before, state: before === null ? 'created' : 'moved' };
}

/** The commit of a branch, and the working tree in which it is checked out. */
async function readBranch(
  { git, isBare, tree }: Repository,
  branch: string,
): Promise<{ readonly before: string | null; readonly tree: string | undefined }> {
  const ref = `refs/heads/${branch}`;
  const fields = ['refname', 'symref', 'objectname', 'worktreepath'].map((name) => `%(${name})`).join('%00');
  const found = await git.read(
    ['for-each-ref', `--format=${fields}%00`, ref],
    'git does not list the branches',
  );
  const rows = found.split('\0\n').map((row) => row.split('\0'));
  const [, symref = '', commit, path = ''] = rows.find(([name]) => name === ref) ?? [];
  if (symref !== '')
    throw failure(`${branch} is another name of ${symref}: name another branch with --branch`);
  if (commit !== undefined) return { before: commit, tree: path === '' ? undefined : path };
  // A branch without a commit that is checked out, as in a new repository, is in no list.
  const head = await git.exec(['symbolic-ref', '--quiet', 'HEAD']);
  const isOut = !isBare && head.stdout === `${ref}\n`;
  return { before: null, tree: isOut ? (tree ?? git.cwd) : undefined };
}
