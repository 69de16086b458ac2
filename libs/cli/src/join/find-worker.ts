import { existsSync, readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { UsageError } from '../command-line/options.ts';
import { defaultFolder } from './plan-worker.ts';
import { readWorkerState, type WorkerHome, type WorkerState, workerHome } from './worker-home.ts';

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
