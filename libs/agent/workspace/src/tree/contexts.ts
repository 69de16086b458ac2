import { join } from 'node:path';
import { shownName } from '@hermes-fleet/protocol';
import type { TaskResults } from '@hermes-fleet/protocol/ports';
import { isThere } from '../process/system-error.ts';
import { contextName } from '../stores/context-name.ts';
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
import type { Opening, Workspaces } from './workspace.ts';

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
  return {
    async openWorkspace(contextId, options) {
      const name = contextName(contextId);
      const dir = join(contexts, name);
      await using opening = new AsyncDisposableStack();
      opening.use(await uses.use(name, 'task', options.signal));
      const { repository, record } = await repositoryOf(dir, options.repository, repositories);
      const { problem } = record === undefined ? {} : await repository.state();
      if (record !== undefined && problem !== undefined)
        throw refusedRepository(record.name, `repository ${record.name}: ${problem}`, true);
      const { base, results, setUps } = repository;
      const prepare = async (place: ContextPlace, commit: string): Promise<void> => {
        if (record !== undefined) await recordRepository(dir, record);
        if (setUps === undefined) return;
        const failure = await setUps.apply(place, commit, options);
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
        start: () => base.start({ ...options, branch: record?.branch }),
        prepare,
      });
      opening.defer(() =>
        markUsed(dir, contextId, clock).catch((err) => log.warn({ context: name, err }, UNMARKED)),
      );
      opening.use(workspace);
      await markUsed(dir, contextId, clock);
      const setUp = await readSetUp(dir);
      const opened = opening.move();
      return {
        ...workspace,
        ...(setUp && {
          setUp,
          async commit(...args) {
            const ended = await workspace.commit(...args);
            return { ...ended, left: [...ended.left, ...toMend(setUp)] };
          },
        }),
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
          const { base } = await ofContext(dir, repositories);
          const place = opening.use(await openContextPlace(dir, confinement, base, parts));
          const opened = opening.move();
          return { ...place, [Symbol.asyncDispose]: () => opened.disposeAsync() };
        },
      }));
    },
    contexts: createContextStore({
      ...parts,
      uses,
      repositories: repositories.all,
    }),
    results: resultsOf(repositories, parts),
  };
}

/** The repository of a context that is there. */
async function ofContext(dir: string, { main, named }: Repositories): Promise<Repository> {
  const record = await readRepository(dir);
  return record === undefined || record === 'unknown' ? main : named(record.name);
}

/** The repository of a task: that of its context, which must be the one that the task names, if it names one. */
async function repositoryOf(
  dir: string,
  asked: Opening['repository'],
  repositories: Repositories,
): Promise<Found> {
  const record = await readRepository(dir);
  if (record !== undefined && record !== 'unknown') {
    const { name, branch } = record;
    if (asked !== undefined && asked.name !== name) throw elsewhere(asked.name, `on repository ${name}`);
    if (asked?.base !== undefined && asked.base !== branch) throw elsewhere(name, `from branch ${branch}`);
    return { repository: await repositories.named(name), record };
  }
  if (asked === undefined) return { repository: repositories.main, record: undefined };
  if (record === undefined && (await readBase(dir)) !== undefined)
    throw elsewhere(asked.name, 'without a named repository');
  const { repository, base } = await repositories.configured(asked.name);
  return { repository, record: { name: asked.name, branch: asked.base ?? base } };
}

const elsewhere = (name: string, began: string) =>
  refusedRepository(
    name,
    `the context began ${shownName(began, 200)}, and works on one repository: start a new context for another`,
    false,
  );

/** The results of all repositories. A configured one may have the name of the user's. */
function resultsOf(repositories: Repositories, parts: RepositoriesOptions): TaskResults {
  const { main, all } = repositories;
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
  async function holder({ repository, commit }: { repository: string | null; commit: string }) {
    for (const each of await all())
      if (each.name === repository && each !== main && (await each.results.has(commit)))
        return readerOf(each);
    return readerOf(main);
  }
  return {
    diff: async (result, options) => (await holder(result)).diff(result, options),
    file: async (result, path, options) => (await holder(result)).file(result, path, options),
    bundle: async (result, options) => (await holder(result)).bundle(result, options),
  };
}
