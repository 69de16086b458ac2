import { createHash, randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import { raceSignal } from '@hermes-fleet/protocol/ports';
import { capacityOf, isThere, unlessAbsent } from '../process/system-error.ts';
import type { ContextPlace } from './context-place.ts';
import { removeFiles } from './removing.ts';
import { ARCHIVES, archiveOf, runSetUp, type SetUpCommands, type SetUpParts } from './run-set-up.ts';
import type { SetUpFailure } from './set-up-report.ts';
import { UNPACK } from './set-up-scripts.ts';
import { exposedSecrets } from './set-up-secrets.ts';
import type { Opening } from './workspace.ts';

/**
 * In the folder `contexts`, where users are given to folders. A context's name begins with no dot. A random part follows the
 * key, because commands may pass through `contexts` to what they know of in it.
 */
const RUNNING = '.set-up-';
/** In an outcome: the path of the folder in which it was made. */
const FOLDER = 'folder';
const PART = '.part';
/** A failure is repeated to others for so long; then the next context tries again. */
const FAILED_MS = 10 * 60_000;
const KEPT = 3;
const UNPACK_MS = 30 * 60_000;

interface Run {
  readonly result: Promise<SetUpFailure | undefined>;
  readonly controller: AbortController;
  waiting: number;
}

export type SetUpCache = ReturnType<typeof createSetUpCache>;

/** Keeps what set-ups left in `<root>/set-ups`, which no command can open. */
export function createSetUpCache(
  setUp: SetUpCommands,
  parts: SetUpParts & {
    readonly root: string;
    readonly contexts: string;
    /** The names of the folders in `contexts` in which set-ups run, of this repository and of others. */
    readonly running: Set<string>;
  },
) {
  const { root, contexts, running, confinement, git, clock, log } = parts;
  const outcomes = join(root, 'set-ups');
  const runs = new Map<string, Run>();
  const failures = new Map<string, { readonly at: number; readonly failure: SetUpFailure }>();
  /** How many contexts get an outcome now. */
  const used = new Map<string, number>();
  const random = (bytes: number): string => randomBytes(bytes).toString('hex');
  /** Where a task could change what a set-up makes meanwhile, that is for one context only. */
  const kept = confinement.sharesUser ? 0 : KEPT;
  const keyOf = (commit: string): string =>
    createHash('sha256')
      .update(JSON.stringify([commit, setUp.commands, setUp.shell, setUp.env]))
      .digest('hex')
      .slice(0, 20);

  async function run(key: string, commit: string, signal: AbortSignal): Promise<SetUpFailure | undefined> {
    const dir = join(contexts, `${RUNNING}${key}-${random(6)}`);
    const part = join(outcomes, key + PART);
    const startedAt = clock.now();
    running.add(basename(dir));
    try {
      await rm(part, { recursive: true, force: true });
      log.info({ commit, commands: setUp.commands }, 'the set-up of a commit runs');
      const failure = await runSetUp({ dir, commit, outcome: part }, setUp, parts, signal);
      const tookS = (clock.now() - startedAt) / 1000;
      if (failure === undefined) {
        await writeFile(join(part, FOLDER), dir);
        await rename(part, join(outcomes, key));
        log.info({ commit, tookS }, 'the set-up of a commit is complete');
      } else {
        failures.set(key, { at: clock.now(), failure });
        log.error({ commit, tookS, ...failure }, 'the set-up of a commit failed; contexts begin without it');
      }
      return failure;
    } catch (error) {
      return failureOf(error, signal);
    } finally {
      await rm(part, { recursive: true, force: true });
      // The next hour removes what this cannot.
      await removeFiles(dir, parts, undefined).catch((err) =>
        log.warn({ err, folder: basename(dir) }, 'the folder of a set-up cannot be removed yet'),
      );
      running.delete(basename(dir));
    }
  }

  /** Waits for the set-up of the commit, which is begun when it does not run yet. */
  async function awaited(
    key: string,
    commit: string,
    signal: AbortSignal,
  ): Promise<SetUpFailure | undefined> {
    let active = runs.get(key);
    if (active === undefined || active.controller.signal.aborted) {
      const before = active?.result.catch(() => {}) ?? Promise.resolve();
      const controller = new AbortController();
      const result = before.then(() => run(key, commit, controller.signal));
      const begun: Run = { result, controller, waiting: 0 };
      const forget = (): boolean => runs.get(key) === begun && runs.delete(key);
      result.then(forget, forget);
      runs.set(key, begun);
      active = begun;
    }
    const mine = active;
    mine.waiting += 1;
    try {
      return await raceSignal(mine.result, signal);
    } finally {
      mine.waiting -= 1;
      if (mine.waiting === 0)
        mine.controller.abort(new FleetError('INTERNAL', 'nobody waits for the set-up'));
      // Its folder is removed before the task that gave up ends.
      if (signal.aborted && mine.waiting === 0) await mine.result.catch(() => {});
    }
  }

  async function unpack(place: ContextPlace, key: string, signal: AbortSignal): Promise<void> {
    const [from, to] = [await readFile(join(outcomes, key, FOLDER), 'utf8'), dirname(place.dir)];
    // A power cut may have emptied the file.
    if (from === '') throw new FleetError('INTERNAL', 'where the set-up ran is not recorded');
    const env = { HOME: place.home, TMPDIR: place.tmp };
    const gitPlace = { cwd: place.dir, gitDir: undefined, workTree: undefined, env, wrap: place.wrap };
    for (const which of ARCHIVES) {
      await using archive = await open(archiveOf(join(outcomes, key), which), 'r');
      const args = [which, from, to, from.replace(/[\\.*[\]^$|]/g, '\\$&'), to.replace(/[\\&|]/g, '\\$&')];
      const call = { stdin: archive.fd, timeoutMs: UNPACK_MS, signal };
      const result = await git.script(gitPlace, UNPACK, args, call);
      if (result.exitCode === 0) continue;
      const reason = `${result.killed ?? result.exitCode}): ${result.stderr.trim().slice(-300)}`;
      throw new FleetError('INTERNAL', `what the set-up left cannot be unpacked (${reason}`);
    }
  }

  async function ready(
    key: string,
    commit: string,
    { signal, onSetUp }: Pick<Opening, 'signal' | 'onSetUp'>,
  ): Promise<SetUpFailure | undefined> {
    if (await isThere(join(outcomes, key))) return undefined;
    const known = failures.get(key);
    if (known !== undefined && clock.now() - known.at < FAILED_MS) return known.failure;
    await onSetUp?.('started');
    const failure = await awaited(key, commit, signal);
    await onSetUp?.(failure === undefined ? 'done' : 'failed');
    return failure;
  }

  return {
    commands: setUp.commands,
    /**
     * Puts what the set-up of a commit leaves into a new context, before a task works there. The set-up runs first when no
     * earlier one of this commit is kept: once for all who wait, and it ends when nobody waits any more. Resolves with its
     * failure, and throws the signal's reason.
     */
    async apply(
      place: ContextPlace,
      commit: string,
      options: Pick<Opening, 'signal' | 'onSetUp'>,
    ): Promise<SetUpFailure | undefined> {
      const { signal } = options;
      signal.throwIfAborted();
      const refused =
        confinement.method === 'none'
          ? 'nothing confines commands here'
          : setUp.secrets && exposedSecrets(confinement);
      if (refused !== undefined) return { command: setUp.commands[0] ?? '', reason: refused, output: '' };
      const key = kept === 0 ? random(10) : keyOf(commit);
      await mkdir(outcomes, { recursive: true, mode: 0o700 });
      used.set(key, (used.get(key) ?? 0) + 1);
      try {
        for (let isAgain = false; ; isAgain = true) {
          const failure = await ready(key, commit, options);
          if (failure !== undefined) return failure;
          const folder = await folderOf(key);
          try {
            await unpack(place, key, signal);
            const now = new Date(clock.now());
            await utimes(join(outcomes, key), now, now);
            return undefined;
          } catch (error) {
            passOn(error, signal);
            if (isAgain) return failureOf(error, signal);
            log.warn({ err: error, commit }, 'what a set-up left cannot be used, so that it runs once more');
            if ((await folderOf(key)) === folder) await discard(key);
          }
        }
      } finally {
        const others = (used.get(key) ?? 1) - 1;
        if (others === 0) used.delete(key);
        else used.set(key, others);
        await removeOutcomes();
      }
    },
    /** Removes what interrupted set-ups left, and all outcomes but the last ones used. Throws the signal's reason. */
    async prune(signal: AbortSignal): Promise<void> {
      for (const name of await readdir(contexts)) {
        if (!name.startsWith(RUNNING) || running.has(name)) continue;
        await removeFiles(join(contexts, name), parts, signal).catch((err) => {
          signal.throwIfAborted();
          log.warn(
            { err, folder: name },
            'the folder of a set-up cannot be removed; the next try is in an hour',
          );
        });
      }
      for (const [key, { at }] of failures) if (clock.now() - at >= FAILED_MS) failures.delete(key);
      await removeOutcomes();
    },
  };

  /** Throws what ends the wait of a task, and what keeps everything from beginning now. */
  function passOn(error: unknown, signal: AbortSignal): void {
    signal.throwIfAborted();
    if (capacityOf(error) !== undefined || (error instanceof FleetError && error.code === 'QUEUE_FULL'))
      throw error;
  }

  /** A task begins without its set-up also when the machine is the reason. */
  function failureOf(error: unknown, signal: AbortSignal): SetUpFailure {
    passOn(error, signal);
    const reason = error instanceof Error ? error.message : String(error);
    log.error({ err: error }, 'a set-up could not be carried out; contexts begin without it');
    return { command: '', reason, output: '' };
  }

  /** Which of the runs made the outcome. */
  async function folderOf(key: string): Promise<string | undefined> {
    return readFile(join(outcomes, key, FOLDER), 'utf8').catch(unlessAbsent);
  }

  /** Removes an outcome. Nobody finds a part of it, also when that is interrupted. */
  async function discard(name: string): Promise<void> {
    const aside = join(outcomes, `${name}-${random(6)}${PART}`);
    await rename(join(outcomes, name), aside).catch(unlessAbsent);
    await rm(aside, { recursive: true, force: true });
  }

  /** Removes all outcomes but the last ones used, and what is incomplete. */
  async function removeOutcomes(): Promise<void> {
    const names = (await readdir(outcomes).catch(unlessAbsent)) ?? [];
    const free = names.filter((name) => !used.has(name) && !runs.has(name.replace(PART, '')));
    const times = await Promise.all(
      free.map(async (name) => ({ name, at: name.endsWith(PART) ? 0 : await usedAt(join(outcomes, name)) })),
    );
    times.sort((a, b) => b.at - a.at);
    const unused = Math.max(0, kept - used.size);
    for (const { name, at } of times.filter(({ at: time }, index) => index >= unused || time === 0)) {
      if (used.has(name)) continue;
      if (at > 0) log.info({ outcome: name }, 'what an old set-up left is removed');
      await discard(name);
    }
  }
}

const usedAt = async (path: string): Promise<number> =>
  stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
