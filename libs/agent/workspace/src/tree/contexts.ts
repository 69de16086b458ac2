import { join } from 'node:path';
import { shownName } from '@hermes-fleet/protocol';
import type { ResultCommits, TaskResults } from '@hermes-fleet/protocol/ports';
import { openBundles } from '../bundles/bundles.ts';
import { isThere } from '../process/system-error.ts';
import { contextName } from '../stores/context-name.ts';
import type { Start } from '../stores/origin.ts';
import { createTaskResults } from '../stores/task-results.ts';
import { refusedRepository } from '../stores/workspace-refused.ts';
import { contextNames, markUsed, readBase } from './context-folder.ts';
import { type ContextPlace, openContextPlace } from './context-place.ts';
import { type ContextRepository, readRepository, recordRepository } from './context-repository.ts';
import { createContextStore } from './context-store.ts';
import { openContextTree } from './context-tree.ts';
import { createContextUses } from './context-uses.ts';
import {
  openRepositories,
  type Repositories,
  type RepositoriesOptions,
  type Repository,
} from './repositories.ts';
import { createSavedTrees } from './saved-trees.ts';
import { readSetUp, recordSetUp, toMend } from './set-up-report.ts';
import { forgetStale, readStale, recordStale } from './stale-base.ts';
import type { TaskRepository, Workspaces } from './workspace.ts';

const UNMARKED = 'the time of the last use of a context cannot be recorded';

/** What a context works on: `record` is that of a configured repository. */
interface Found {
  readonly repository: Repository;
  readonly record: ContextRepository | undefined;
}

/** Provides each context with a tree and a repository of its own (docs/decisions/0026-repository-per-context.md). */
export async function openContexts(parts: RepositoriesOptions): Promise<Workspaces> {
  const { contexts, confinement, clock, log } = parts;
  const repositories = await openRepositories(parts);
  const { main } = repositories;
  const saved = createSavedTrees();
  const uses = createContextUses();
  const bundles = await openBundles({ ...parts, dir: join(parts.root, 'bundles') });
  return {
    async openWorkspace(contextId, options) {
      const name = contextName(contextId);
      const dir = join(contexts, name);
      await using opening = new AsyncDisposableStack();
      opening.use(await uses.use(name, 'task', options.signal));
      const { repository, record } = await repositoryOf(contexts, name, options.repository, repositories);
      const { problem } = record === undefined ? {} : await repository.state();
      if (record !== undefined && problem !== undefined)
        throw refusedRepository(record.name ?? 'bundle', problem, true);
      const { base, results, setUps } = repository;
      const { base: commit, bundle } = options.repository ?? {};
      const checkout = bundle && commit !== undefined ? { commit, open: bundle } : undefined;
      let begun: Start | undefined;
      const start = async (): Promise<string> => {
        begun = await base.start({ ...options, ...branchOf(record), checkout });
        return begun.commit;
      };
      // A further task may bring a newer commit.
      const onto = checkout === undefined ? undefined : await start();
      const prepare = async (place: ContextPlace, commit: string): Promise<void> => {
        if (record !== undefined) await recordRepository(dir, record);
        if (begun?.stale !== undefined) await recordStale(dir, begun.stale);
        if (setUps === undefined) return;
        const failure = await setUps.apply(place, commit, options);
        // A set-up has a user of its own.
        await using _shared = await base.giveTo(place.user);
        await recordSetUp(dir, { commands: setUps.commands, failure });
      };
      const workspace = await openContextTree({
        ...parts,
        name,
        repository: repository.name,
        dir,
        base,
        results,
        saved,
        start,
        onto,
        prepare,
      });
      opening.defer(() =>
        markUsed(dir, contextId, clock).catch((err) => log.warn({ context: name, err }, UNMARKED)),
      );
      opening.use(workspace);
      await markUsed(dir, contextId, clock);
      const [setUp, stale] = [await readSetUp(dir), await readStale(dir)];
      const opened = opening.move();
      return {
        ...workspace,
        ...(setUp && { setUp }),
        async commit(message, { isTold = true } = {}) {
          const ended = await workspace.commit(message, { isTold });
          if (stale.length > 0 && isTold) await forgetStale(dir);
          return { ...ended, left: [...ended.left, ...stale, ...(setUp ? toMend(setUp) : [])] };
        },
        [Symbol.asyncDispose]: () => opened.disposeAsync(),
      };
    },
    repoState: main.state,
    async trees() {
      return (await contextNames(contexts)).map((name) => ({
        dir: join(contexts, name, 'tree'),
        async openTree() {
          await using opening = new AsyncDisposableStack();
          opening.use(await uses.use(name, 'look'));
          const dir = join(contexts, name);
          if (!(await isThere(dir))) return undefined;
          const { base } = await ofContext(contexts, name, repositories);
          const place = opening.use(await openContextPlace(dir, confinement, base, parts));
          const opened = opening.move();
          return { ...place, [Symbol.asyncDispose]: () => opened.disposeAsync() };
        },
      }));
    },
    contexts: createContextStore({ ...parts, uses, bundles, repositories }),
    results: resultsOf(repositories, parts),
    bundles,
  };
}

/** The repository of a context that is there. */
async function ofContext(contexts: string, name: string, repositories: Repositories): Promise<Repository> {
  const record = await readRepository(join(contexts, name));
  return record === undefined || record === 'unknown'
    ? repositories.main
    : ofRecord(name, record, repositories);
}

const ofRecord = (context: string, record: ContextRepository, repositories: Repositories) =>
  'isCheckout' in record ? repositories.checkout(context, record.name) : repositories.named(record.name);

/** The repository of a task: that of its context, which must be the one that the task names, if it names one. */
async function repositoryOf(
  contexts: string,
  context: string,
  asked: TaskRepository | undefined,
  repositories: Repositories,
): Promise<Found> {
  const dir = join(contexts, context);
  const known = await readRepository(dir);
  const record = known === undefined || known === 'unknown' ? undefined : known;
  if (asked !== undefined && record !== undefined) sameOrRefused(asked, record);
  if (record !== undefined) return { repository: await ofRecord(context, record, repositories), record };
  if (asked === undefined) return { repository: repositories.main, record };
  if (known === undefined && (await readBase(dir)) !== undefined)
    throw elsewhere(asked, 'without a named repository');
  const begun = recordOf(asked, repositories);
  return { repository: await ofRecord(context, begun, repositories), record: begun };
}

function recordOf({ name, base, bundle }: TaskRepository, { configured }: Repositories): ContextRepository {
  const remote = name === undefined ? undefined : configured(name);
  if (bundle !== undefined || remote === undefined) return { isCheckout: true, name };
  return { name: remote.name, branch: base ?? remote.base };
}

function sameOrRefused(asked: TaskRepository, record: ContextRepository): void {
  const isCheckout = 'isCheckout' in record;
  const began = `${isCheckout ? 'on a checkout' : 'on repository'} ${record.name ?? ''}`.trimEnd();
  if (asked.name !== record.name || (asked.bundle !== undefined) !== isCheckout)
    throw elsewhere(asked, began);
  if (!isCheckout && asked.base !== undefined && asked.base !== record.branch)
    throw elsewhere(asked, `from branch ${record.branch}`);
}

const branchOf = (record: ContextRepository | undefined): { branch?: string } =>
  record === undefined || 'isCheckout' in record ? {} : { branch: record.branch };

const elsewhere = ({ name = 'bundle' }: TaskRepository, began: string) =>
  refusedRepository(
    name,
    `the context began ${shownName(began, 200)}, and works on one repository: start a new context for another`,
    false,
  );

/** The results of all repositories. A configured one may have the name of the user's. */
function resultsOf(repositories: Repositories, parts: RepositoriesOptions): TaskResults {
  const { main } = repositories;
  const readers = new Map<Repository, TaskResults>();
  function readerOf(repository: Repository): TaskResults {
    const { results } = repository;
    const reader =
      readers.get(repository) ??
      createTaskResults({
        git: parts.git,
        place: results.place,
        passing: results.passing,
        baseOf: async (contextId) => (await results.refs(contextName(contextId))).base,
        isShallow: async () => (await results.shallow()).length > 0,
        log: parts.log,
      });
    readers.set(repository, reader);
    return reader;
  }
  async function holder({ contextId, repository, commit }: ResultCommits): Promise<TaskResults> {
    const context = contextName(contextId);
    if ((await repositories.checkouts()).includes(context)) {
      const checkout = await repositories.checkout(context);
      if (await checkout.results.has(commit)) return readerOf(checkout);
    }
    const named = repository === null ? undefined : await repositories.existing(repository);
    if (named !== undefined && (await named.results.has(commit))) return readerOf(named);
    return readerOf(main);
  }
  return {
    diff: async (result, options) => (await holder(result)).diff(result, options),
    file: async (result, path, options) => (await holder(result)).file(result, path, options),
    bundle: async (result, options) => (await holder(result)).bundle(result, options),
  };
}
