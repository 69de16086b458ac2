import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Values } from '../command-line/command.ts';
import { UsageError } from '../command-line/option-values.ts';
import type { joinUsage } from '../command-specs/workers.ts';
import { defaultFolder } from './plan-worker.ts';
import { readWorkerState, type WorkerHome, type WorkerState, workerHome } from './worker-home.ts';

/** The options of `fleet join` that identify the worker, the base URL of the orchestrator and the hash of the join token. */
type JoinCall = Pick<Values<typeof joinUsage.options>, 'dir' | 'name'> & {
  readonly url: string;
  readonly joinToken?: string | undefined;
};

interface FoundWorker {
  readonly folder: string;
  readonly state: WorkerState;
}

/**
 * The worker of this orchestrator that an earlier `fleet join` began: in `--dir`, or of this name; without both, the one in
 * `folders` that joined with the same join token. Undefined for none, and for one that has left. Throws CONFIG_INVALID.
 */
export function workerOfJoin(
  { dir, name, url, joinToken }: JoinCall,
  folders = dirname(defaultFolder('x')),
): FoundWorker | undefined {
  const isOf = ({ phase, orchestrator }: WorkerState): boolean =>
    phase !== 'left' && orchestrator.url === url;
  const folder = dir ?? (name === undefined ? undefined : join(folders, name));
  if (folder !== undefined) {
    const state = readWorkerState(folder);
    return state && isOf(state) && (name === undefined || name === state.name)
      ? { folder, state }
      : undefined;
  }
  if (joinToken === undefined || !existsSync(folders)) return undefined;
  return readdirSync(folders)
    .map((entry) => join(folders, entry))
    .flatMap((each) => {
      const state = existsSync(join(each, 'worker.json')) ? readWorkerState(each) : undefined;
      return state ? [{ folder: each, state }] : [];
    })
    .find(({ state }) => isOf(state) && state.joinToken === joinToken);
}

/** The worker in `--dir`, or the one of this name, or the only one on this machine. Throws UsageError and CONFIG_INVALID. */
export function findWorker(
  dir: string | undefined,
  name: string | undefined,
): { readonly home: WorkerHome; readonly state: WorkerState } {
  const folder = dir ?? defaultFolder(name ?? onlyName());
  const state = readWorkerState(folder);
  if (!state) throw new UsageError(`there is no worker in ${folder}: name its folder with --dir`);
  if (name !== undefined && state.name !== name)
    throw new UsageError(`the worker in ${folder} is ${state.name}, not ${name}`);
  return { home: workerHome(folder, state), state };
}

function onlyName(): string {
  const folder = dirname(defaultFolder('x'));
  const names = existsSync(folder) ? readdirSync(folder).sort() : [];
  const [only, ...others] = names;
  if (only !== undefined && others.length === 0) return only;
  const reason = names.length === 0 ? `there is none in ${folder}` : `there are ${names.join(', ')}`;
  throw new UsageError(`name the worker: ${reason}`);
}
