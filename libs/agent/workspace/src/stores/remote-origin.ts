import { createHash } from 'node:crypto';
import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import { type Clock, type Log, raceSignal } from '@hermes-fleet/protocol/ports';
import { failureOf, type Git, linesOf } from '../git/git.ts';
import type { CommandResult } from '../process/run-command.ts';
import { unlessAbsent } from '../process/system-error.ts';
import { baseRef, type Origin, type Start, type Starting } from './origin.ts';
import type { Remote } from './remote.ts';
import { askRemote, faultOf, type RemoteFault } from './remote-git.ts';
import type { Store } from './store.ts';
import { refusedRepository } from './workspace-refused.ts';

/** For the first fetch of a large repository. */
const FETCH_MS = 30 * 60_000;
/** So long, contexts start from the commit that was fetched, or get the same refusal. */
const FRESH_MS = 10_000;
const FETCHED = 'refs/fetched/';

type Outcome = { readonly commit: string } | { readonly fault: RemoteFault };

interface Fetch {
  readonly outcome: Promise<Outcome>;
  readonly controller: AbortController;
  waiting: number;
}

export interface RemoteOriginOptions {
  readonly clock: Clock;
  readonly log: Log;
}

/** The branches of a repository at a forge, which are fetched when contexts start. */
export async function remoteOrigin(
  git: Git,
  store: Store,
  remote: Remote,
  { clock, log }: RemoteOriginOptions,
): Promise<Origin> {
  const fetches = new Map<string, Fetch>();
  const recent = new Map<string, { readonly at: number; readonly outcome: Outcome }>();
  /** Fetches of different branches take turns: git locks what they write. */
  let turn: Promise<unknown> = Promise.resolve();

  async function commitOf(branch: string): Promise<string | undefined> {
    const { stdout } = await git.exec(store.place, ['rev-parse', '-q', '--verify', refOf(branch)]);
    return stdout.trim() || undefined;
  }

  async function bring(branch: string, signal: AbortSignal): Promise<Outcome> {
    signal.throwIfAborted();
    await removeLeftovers(store);
    const isFirst = (await commitOf(branch)) === undefined;
    // Later fetches add to the history, and cut off nothing of it.
    const depth = isFirst && remote.depth > 0 ? [`--depth=${remote.depth}`] : [];
    const refs = `+refs/heads/${branch}:${refOf(branch)}`;
    const args = ['fetch', ...QUIET, ...depth, '--', remote.url, refs];
    let result: CommandResult;
    try {
      result = await askRemote(git, store.place, remote, args, { timeoutMs: FETCH_MS, signal });
    } catch (error) {
      if (!(error instanceof FleetError && error.code === 'CONFIG_INVALID')) throw error;
      return { fault: { detail: error.message, isAway: false } };
    }
    signal.throwIfAborted();
    const commit = result.exitCode === 0 ? await commitOf(branch) : undefined;
    if (commit === undefined) {
      const fault = faultOf(remote, branch, result);
      log.warn({ repository: remote.name, branch, ...failureOf(result), ...fault }, 'a fetch failed');
      return { fault };
    }
    await git.run(store.place, ['update-ref', baseRef(commit), commit]);
    await writeFile(timeFile(store, branch), '');
    log.info({ repository: remote.name, branch, commit }, 'a branch was fetched');
    return { commit };
  }

  /** Joins the fetch of the branch, which ends when nobody waits for it any more. */
  async function awaited(branch: string, signal: AbortSignal | undefined): Promise<Outcome> {
    let active = fetches.get(branch);
    if (active === undefined || active.controller.signal.aborted) {
      const controller = new AbortController();
      const outcome = turn.then(() => bring(branch, controller.signal));
      turn = outcome.catch(() => {});
      const begun: Fetch = { outcome, controller, waiting: 0 };
      const settle = (result?: Outcome): void => {
        if (result !== undefined) recent.set(branch, { at: clock.monotonic(), outcome: result });
        if (fetches.get(branch) === begun) fetches.delete(branch);
      };
      outcome.then(settle, () => settle());
      fetches.set(branch, begun);
      active = begun;
    }
    active.waiting += 1;
    try {
      return signal === undefined ? await active.outcome : await raceSignal(active.outcome, signal);
    } finally {
      active.waiting -= 1;
      if (active.waiting === 0)
        active.controller.abort(new FleetError('INTERNAL', 'nobody waits for the fetch'));
    }
  }

  async function newestOf(branch: string, { signal, onFetch }: Starting): Promise<Outcome> {
    signal?.throwIfAborted();
    const last = recent.get(branch);
    if (last !== undefined && clock.monotonic() - last.at < FRESH_MS) return last.outcome;
    await onFetch?.('started');
    const outcome = await awaited(branch, signal);
    await onFetch?.('commit' in outcome ? 'done' : 'failed');
    return outcome;
  }

  return {
    async start(starting): Promise<Start> {
      const { branch = remote.base } = starting;
      if (branch !== remote.base && !remote.allows(branch))
        throw refused(
          `no context may start from its branch ${branch}: name another, or add it to bases`,
          false,
        );
      const outcome = await newestOf(branch, starting);
      if ('commit' in outcome) return outcome;
      const { detail, isAway } = outcome.fault;
      const commit = isAway && remote.allowsStaleBase ? await commitOf(branch) : undefined;
      if (commit === undefined) throw refused(detail, isAway);
      const at = (await stat(timeFile(store, branch)).catch(unlessAbsent))?.mtime.toISOString();
      const stale = `${branch} as it was fetched ${at ?? 'earlier'}, because ${detail}`;
      return { commit, stale };
    },
    heads: async () =>
      linesOf(await git.run(store.place, ['for-each-ref', '--format=%(objectname)', FETCHED])),
    newest: () =>
      [...recent.values()].flatMap(({ outcome }) => ('commit' in outcome ? [outcome.commit] : [])),
    state: async () => ({ branch: remote.base, clean: true }),
  };

  function refused(detail: string, mayPass: boolean) {
    return refusedRepository(remote.name, `repository ${remote.name}: ${detail}`, mayPass);
  }
}

export const QUIET = [
  '-q',
  '--no-tags',
  '--no-recurse-submodules',
  '--no-write-fetch-head',
  '--no-auto-maintenance',
];

/** Names of branches are no names of files: one may be a folder of another. */
const hashOf = (branch: string): string => createHash('sha256').update(branch).digest('hex').slice(0, 40);
const refOf = (branch: string): string => FETCHED + hashOf(branch);
/** A file whose modification time is that of the last fetch of the branch. */
const timeFile = ({ dir }: Store, branch: string): string => join(dir, `fetched-${hashOf(branch)}`);

/** A fetch that was killed leaves a lock, and parts of a pack. Nothing else fetches into the store. */
export async function removeLeftovers({ dir, objects }: Store): Promise<void> {
  await rm(join(dir, 'shallow.lock'), { force: true });
  const packs = join(objects, 'pack');
  for (const name of await readdir(packs))
    if (name.startsWith('tmp_')) await rm(join(packs, name), { force: true });
}
