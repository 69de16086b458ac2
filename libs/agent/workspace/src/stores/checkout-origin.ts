import { open } from 'node:fs/promises';
import { FleetError } from '@hermes-fleet/protocol';
import type { ResultContent } from '@hermes-fleet/protocol/ports';
import { failureOf, type Git, type GitPlace, isFull, linesOf } from '../git/git.ts';
import { limited } from '../git/limited.ts';
import type { CommandRecords } from '../process/command-records.ts';
import { firstLine } from '../process/system-error.ts';
import { type BundleHeader, readBundleHeader } from './bundle-header.ts';
import { type Fetching, removeLeftovers } from './fetching.ts';
import { BASES, baseRef, type Origin, type Starting } from './origin.ts';
import type { Remote } from './remote.ts';
import { type RemoteOriginOptions, remoteOrigin } from './remote-origin.ts';
import type { Store } from './store.ts';
import { refusedRepository, WorkspaceRefused } from './workspace-refused.ts';

/** How many bundles a commit may build on. */
const MAX_BUNDLES = 1000;
const INDEX_MS = 30 * 60_000;
const LIMITS = { dataKib: 4 * 1024 * 1024, cpuS: 1800 };
/** Names the checkout where no configured repository does. */
const CHECKOUT = 'bundle';

export interface CheckoutOriginOptions extends Omit<RemoteOriginOptions, 'fetching'> {
  /** The configured repository that has what the bundles build on, if one has. */
  readonly remote: { readonly remote: Remote; readonly fetching: Fetching } | undefined;
  /** Has the next start end a git that a crash left running. */
  readonly records: CommandRecords | undefined;
}

/**
 * Commits of a caller's own checkout, for one context. They come as bundles, each of which builds on others or on a configured
 * repository, which is fetched then.
 */
export async function checkoutOrigin(
  git: Git,
  store: Store,
  options: CheckoutOriginOptions,
): Promise<Origin> {
  const { log } = options;
  const { remote, fetching } = options.remote ?? {};
  const { place } = store;
  const branches = remote && fetching && (await remoteOrigin(git, store, remote, { ...options, fetching }));
  const bounded = limited(LIMITS);
  const checking: GitPlace = {
    ...place,
    wrap: (command, args) => ({ ...bounded(command, args), records: options.records }),
  };
  const refused = (detail: string, mayPass = false): WorkspaceRefused =>
    refusedRepository(remote?.name ?? CHECKOUT, `the sent checkout ${detail}`, mayPass);
  const has = (commit: string): Promise<boolean> => git.ask(place, ['cat-file', '-e', `${commit}^{commit}`]);
  /** A commit that is there with all that it consists of. */
  const isWhole = async (commit: string): Promise<boolean> =>
    (await has(commit)) && git.ask(place, ['rev-list', '--objects', '--quiet', commit, '--not', '--all']);

  /** Fetches commits from the configured repository: first its branch, which most likely has them. */
  async function fetchAll(commits: readonly string[], starting: Starting): Promise<void> {
    await branches?.start({ ...starting, branch: undefined, checkout: undefined }).catch((error: unknown) => {
      // The branch may be gone, and its commits there.
      if (!(error instanceof WorkspaceRefused)) throw error;
    });
    for (const commit of commits) {
      if (await has(commit)) continue;
      const fault = await fetching?.bring(commit, baseRef(commit), starting.signal);
      if (fault?.isAway) throw refused(`builds on a repository that is away: ${fault.detail}`, true);
      if (fault)
        throw refused(`builds on commit ${commit}, which is not to be had (${fault.detail}): push it`);
    }
  }

  /** Adds the objects of a bundle. */
  async function take(
    { path }: ResultContent,
    commit: string,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    await using file = await open(path, 'r');
    await readBundleHeader(file);
    const call = { timeoutMs: INDEX_MS, stdin: file.fd, signal };
    const indexed = await git.exec(checking, ['index-pack', '--stdin'], call);
    signal?.throwIfAborted();
    if (indexed.exitCode === 0) return;
    log.warn({ commit, ...failureOf(indexed) }, 'a bundle is refused');
    if (isFull(indexed)) throw refused('has no room on the disk of this worker', true);
    throw refused(`is damaged: ${firstLine(indexed.stderr, 'git was stopped by a limit of memory or time')}`);
  }

  async function bring(
    commit: string,
    starting: Starting & Required<Pick<Starting, 'checkout'>>,
  ): Promise<void> {
    const { signal, checkout } = starting;
    await using contents = new AsyncDisposableStack();
    const chain: { readonly content: ResultContent; readonly commit: string }[] = [];
    const missing: string[] = [];
    const seen = new Set<string>();
    const wanted = [commit];
    for (let next = wanted.pop(); next !== undefined; next = wanted.pop()) {
      if (seen.has(next) || (await isWhole(next))) continue;
      seen.add(next);
      const content = await checkout?.open(next).catch((error: unknown) => {
        if (
          error instanceof FleetError &&
          error.code === 'NO_RESULT' &&
          remote !== undefined &&
          next !== commit
        )
          return undefined;
        throw unavailable(error, signal);
      });
      if (content === undefined) {
        missing.push(next);
        continue;
      }
      contents.use(content);
      chain.push({ content, commit: next });
      if (chain.length > MAX_BUNDLES) throw refused('builds on too many others: send it in a new context');
      wanted.push(...(await headerOf(content, next)).prerequisites);
    }
    if (missing.length > 0) await fetchAll(missing, starting);
    for (const each of chain.reverse()) await take(each.content, each.commit, signal);
    const walk = ['rev-list', '--objects', '--quiet', commit, '--not', '--all'];
    const whole = await git.exec(checking, walk, { timeoutMs: INDEX_MS, signal });
    signal?.throwIfAborted();
    if (whole.exitCode !== 0)
      throw refused(
        `lacks objects: ${firstLine(whole.stderr, 'git was stopped by a limit of memory or time')}`,
      );
    await git.run(place, ['update-ref', baseRef(commit), commit]);
  }

  async function headerOf({ path }: ResultContent, commit: string): Promise<BundleHeader> {
    await using file = await open(path, 'r');
    const header = await readBundleHeader(file);
    if (header === undefined || !header.refs.some((ref) => ref.commit === commit))
      throw refused(`is not a git bundle of commit ${commit}: send it again`);
    return header;
  }

  function unavailable(error: unknown, signal: AbortSignal | undefined): unknown {
    signal?.throwIfAborted();
    if (!(error instanceof FleetError)) return error;
    return refused(`cannot be had: ${error.message}`, error.retryable);
  }

  await removeLeftovers(store);
  return {
    async start(starting) {
      const { checkout, signal, onFetch } = starting;
      if (checkout === undefined) throw refused('is not named by the task: send it with --repo');
      const { commit } = checkout;
      if (await git.ask(place, ['rev-parse', '-q', '--verify', `${baseRef(commit)}^{commit}`]))
        return { commit };
      signal?.throwIfAborted();
      await onFetch?.('started');
      try {
        await bring(commit, { ...starting, checkout });
      } catch (error) {
        await onFetch?.('failed');
        throw error;
      }
      await onFetch?.('done');
      return { commit };
    },
    heads: async () => linesOf(await git.run(place, ['for-each-ref', '--format=%(objectname)', BASES])),
    newest: () => [],
    state: async () => ({ branch: '', clean: true }),
  };
}
