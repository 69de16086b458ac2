import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import type { Log } from '@hermes-fleet/protocol/ports';
import { failureOf, type Git } from '../git/git.ts';
import type { CommandRecords } from '../process/command-records.ts';
import type { Remote } from './remote.ts';
import { askRemote, faultOf, type RemoteFault } from './remote-git.ts';
import type { Store } from './store.ts';

/** For the first fetch of a large repository. */
const FETCH_MS = 30 * 60_000;
const QUIET = [
  '-q',
  '--no-tags',
  '--no-recurse-submodules',
  '--no-write-fetch-head',
  '--no-auto-maintenance',
];

export type Fetching = Awaited<ReturnType<typeof createFetching>>;

/**
 * Fetches from a remote into a store, one thing at a time: git locks what it writes. The history is limited to the depth of the remote.
 * It removes the leftovers of a process that was killed; `records` lets the next start end a git that such a process left running.
 */
export async function createFetching(
  git: Git,
  store: Store,
  remote: Remote,
  { records, log }: { readonly records: CommandRecords | undefined; readonly log: Log },
) {
  let turn: Promise<unknown> = Promise.resolve();

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = turn.then(work);
    turn = done.catch(() => {});
    return done;
  }

  async function update(wanted: string, ref: string, signal: AbortSignal | undefined) {
    signal?.throwIfAborted();
    const depth = remote.depth > 0 ? [`--depth=${remote.depth}`] : [];
    const args = ['fetch', ...QUIET, ...depth, '--', remote.url, `+${wanted}:${ref}`];
    try {
      const call = { timeoutMs: FETCH_MS, signal, records };
      const result = await askRemote(git, store.place, remote, args, call);
      if (result.exitCode === 0) return undefined;
      await removeLeftovers(store);
      signal?.throwIfAborted();
      const fault = faultOf(remote, wanted.replace('refs/heads/', ''), result);
      log.warn({ repository: remote.name, wanted, ...failureOf(result), ...fault }, 'a fetch failed');
      return fault;
    } catch (error) {
      if (!(error instanceof FleetError && error.code === 'CONFIG_INVALID')) throw error;
      return { detail: error.message, isAway: false, mayPass: false };
    }
  }

  await removeLeftovers(store);
  return {
    /** Fetches a branch (`refs/heads/…`) or a commit as `ref`. Resolves with why it failed; throws the reason of the signal. */
    bring: (wanted: string, ref: string, signal: AbortSignal | undefined): Promise<RemoteFault | undefined> =>
      inTurn(() => update(wanted, ref, signal)),
    /** Runs work on the store while nothing is fetched. */
    inTurn,
  };
}

/** A git that was killed leaves a lock, and parts of a pack. Nothing else writes to the store meanwhile. */
export async function removeLeftovers({ dir, objects }: Store): Promise<void> {
  await rm(join(dir, 'shallow.lock'), { force: true });
  const packs = join(objects, 'pack');
  for (const name of await readdir(packs))
    if (name.startsWith('tmp_')) await rm(join(packs, name), { force: true });
}
