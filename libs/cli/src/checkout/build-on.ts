import type { Read } from '@hermes-fleet/net/api';
import type { SentBundle } from '@hermes-fleet/protocol/api';
import type { Git } from '../git/git.ts';
import type { ConfiguredRemote } from './configured-remote.ts';

/** The part of a commit's history that is sent. */
export interface Part {
  readonly commit: string;
  /** Commits that the receiver has, or gets from a configured repository. */
  readonly prerequisites: readonly string[];
  /** Commits of which nothing is sent. */
  readonly without: readonly string[];
}

/** How many of the commits that were sent before are compared. */
const MOST_COMPARED = 20;
const MOST_BRANCHES = 1_000;

/**
 * The smallest part of a commit's history that builds on commits which were sent before, newest first, or on those of a configured
 * repository, as far as this repository has them. It has one commit at least.
 */
export async function buildOn(
  git: Git,
  commit: string,
  sent: readonly string[],
  remote: ConfiguredRemote | undefined,
): Promise<Part> {
  const shared = remote === undefined ? [] : await sharedWith(git, commit, remote);
  const candidates = [
    ...(shared.length > 0 ? [shared] : []),
    ...(await present(git, sent)).slice(0, MOST_COMPARED).map((each) => [each]),
  ];
  let best: readonly string[] = [];
  let least = candidates.length === 0 ? undefined : await countOf(git, commit, []);
  for (const candidate of candidates) {
    const count = await countOf(git, commit, candidate);
    if (count === undefined || least === undefined || count >= least) continue;
    [best, least] = [candidate, count];
  }
  if (least !== 0) return { commit, prerequisites: best, without: best };
  const parents = await git.read(['rev-parse', `${commit}^@`], 'git names no parents');
  const without = parents.split('\n').filter((parent) => parent !== '');
  // A commit that was sent before need not have the parents as ends of bundles, and the remote has them.
  return { commit, prerequisites: best === shared ? without : best, without };
}

type Sent = Read<typeof SentBundle>;

/** The bundles that are complete, or build on commits that the remote has as far as this repository knows. */
export async function usable(
  git: Git,
  sent: readonly Sent[],
  remote: ConfiguredRemote | undefined,
): Promise<Sent[]> {
  const judged = new Map<string, boolean>();
  const found: Sent[] = [];
  for (const each of sent) {
    const { repository, from_repository: commits } = each;
    if (repository !== undefined) {
      if (remote === undefined || repository !== remote.repository.name || commits === undefined) continue;
      const key = commits.join();
      if (!judged.has(key) && judged.size < MOST_COMPARED) judged.set(key, await isAt(git, remote, commits));
      if (!judged.get(key)) continue;
    }
    found.push(each);
  }
  return found;
}

/** The branches of a remote, as the last `git fetch` found them, have all these commits. */
async function isAt(git: Git, { remote }: ConfiguredRemote, commits: readonly string[]): Promise<boolean> {
  if (commits.length === 0) return true;
  const args = ['rev-list', '--max-count=1', ...commits, '--not', `--remotes=${remote}`];
  const { code, stdout } = await git.exec(args);
  return code === 0 && stdout === '';
}

/** Commits of the remote, best those of its base, because other branches are deleted and overwritten. */
async function sharedWith(
  git: Git,
  commit: string,
  { remote, repository }: ConfiguredRemote,
): Promise<string[]> {
  const at = `refs/remotes/${remote}`;
  const list = [
    'for-each-ref',
    `--count=${MOST_BRANCHES}`,
    '--sort=-committerdate',
    '--format=%(objectname)',
  ];
  for (const pattern of [`${at}/${repository.base}`, `${at}/`]) {
    const heads = (await git.read([...list, pattern], 'git does not list the branches')).split('\n');
    if (heads[0] === '') continue;
    const { stdout } = await git.exec(['merge-base', '--all', commit, ...new Set(heads)]);
    if (stdout !== '') return stdout.trim().split('\n');
  }
  return [];
}

async function present(git: Git, commits: readonly string[]): Promise<string[]> {
  if (commits.length === 0) return [];
  const found = await git.read(
    ['cat-file', '--batch-check=%(objectname) %(objecttype)'],
    'git cannot read its objects',
    {
      input: `${commits.join('\n')}\n`,
    },
  );
  return found.split('\n').flatMap((line) => (line.endsWith(' commit') ? [line.slice(0, -7)] : []));
}

/** How many commits are new; undefined where the history of the others is not all here. */
async function countOf(git: Git, commit: string, without: readonly string[]): Promise<number | undefined> {
  const args = ['rev-list', '--count', commit, ...without.map((each) => `^${each}`)];
  const { code, stdout } = await git.exec(args);
  return code === 0 ? Number(stdout) : undefined;
}
