import { createHash } from 'node:crypto';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import { type Clock, type Log, raceSignal } from '@hermes-fleet/protocol/ports';
import { type Git, linesOf } from '../git/git.ts';
import { unlessAbsent } from '../process/system-error.ts';
import type { Fetching } from './fetching.ts';
import { baseRef, type Origin, type Start, type Starting } from './origin.ts';
import type { Remote } from './remote.ts';
import type { RemoteFault } from './remote-git.ts';
import type { Store } from './store.ts';
import { refusedRepository } from './workspace-refused.ts';

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
  readonly fetching: Fetching;
  readonly clock: Clock;
  readonly log: Log;
}

/** The branches of a repository at a forge, which are fetched when contexts start. */
export async function remoteOrigin(
  git: Git,
  store: Store,
  remote: Remote,
  { fetching, clock, log }: RemoteOriginOptions,
): Promise<Origin> {
  const fetches = new Map<string, Fetch>();
  const recent = new Map<string, { readonly at: number; readonly outcome: Outcome }>();
  /** Names of branches are no names of files: one may be a folder of another. A repository may get another URL. */
  const hashOf = (branch: string): string =>
    createHash('sha256').update(`${remote.url} ${branch}`).digest('hex').slice(0, 40);
  const refOf = (branch: string): string => FETCHED + hashOf(branch);
  /** A file whose modification time is that of the last fetch of the branch. */
  const timeFile = (branch: string): string => join(store.dir, `fetched-${hashOf(branch)}`);

  async function commitOf(branch: string): Promise<string | undefined> {
    const { stdout } = await git.exec(store.place, ['rev-parse', '-q', '--verify', refOf(branch)]);
    return stdout.trim() || undefined;
  }

  async function bring(branch: string, signal: AbortSignal): Promise<Outcome> {
    const fault = await fetching.bring(`refs/heads/${branch}`, refOf(branch), signal);
    if (fault !== undefined) return { fault };
    const commit = await commitOf(branch);
    if (commit === undefined) throw new FleetError('INTERNAL', 'a branch that was fetched is not there');
    await git.run(store.place, ['update-ref', baseRef(commit), commit]);
    await writeFile(timeFile(branch), '');
    log.info({ repository: remote.name, branch, commit }, 'a branch was fetched');
    return { commit };
  }

  /** Joins the fetch of the branch, which ends when nobody waits for it any more. */
  async function awaited(branch: string, signal: AbortSignal | undefined): Promise<Outcome> {
    let active = fetches.get(branch);
    if (active === undefined || active.controller.signal.aborted) {
      const controller = new AbortController();
      const outcome = bring(branch, controller.signal);
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
      const { detail, isAway, mayPass } = outcome.fault;
      const commit = isAway && remote.allowsStaleBase ? await commitOf(branch) : undefined;
      if (commit === undefined) throw refused(detail, mayPass);
      const at = (await stat(timeFile(branch)).catch(unlessAbsent))?.mtime.toISOString();
      const stale = `${branch} as it was fetched ${at ?? 'earlier'}, because ${detail}`;
      return { commit, stale };
    },
    heads: async () =>
      linesOf(await git.run(store.place, ['for-each-ref', '--format=%(objectname)', FETCHED])),
    newest: () =>
      [...recent.values()].flatMap(({ outcome }) => ('commit' in outcome ? [outcome.commit] : [])),
    state: async () => ({ branch: remote.base, clean: true }),
    inTurn: fetching.inTurn,
  };

  function refused(detail: string, mayPass: boolean) {
    return refusedRepository(remote.name, `repository ${remote.name}: ${detail}`, mayPass);
  }
}
