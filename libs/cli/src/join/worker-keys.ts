import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tokenHash } from '../keys/init.ts';
import { keepSecret, putSecret, readSecret, secretFolder, WORKER_MIN_LENGTH } from '../keys/secret-file.ts';
import { type WorkerHome, type WorkerState, workerVariables } from './worker-home.ts';

/** The tokens of both directions. */
export interface WorkerTokens {
  /** The token that the worker presents to the orchestrator. */
  readonly presents: string;
  /** The token that the orchestrator presents to the worker; its hash once the worker has joined. */
  readonly accepts: string;
}

/** Creates the missing tokens of a worker, those of both directions and its operator's. */
export function makeWorkerKeys(home: WorkerHome, state: WorkerState): WorkerTokens {
  const variables = workerVariables(state);
  const file = (variable: string): string => join(home.keysDir, variable);
  secretFolder(home.keysDir);
  secretFolder(dirname(home.operatorToken));
  const operator = keepSecret(home.operatorToken).value;
  putSecret(file(variables.operator), tokenHash(operator));
  const long = { minLength: WORKER_MIN_LENGTH };
  return {
    presents: keepSecret(file(variables.presents), undefined, long).value,
    accepts: keepSecret(file(variables.accepts), undefined, long).value,
  };
}

/** Replaces the token that the worker accepts by its hash, once the orchestrator has it. */
export function sealWorkerKeys(home: WorkerHome, state: WorkerState): void {
  const file = join(home.keysDir, workerVariables(state).accepts);
  const value = readSecret(file);
  if (value !== undefined && !value.startsWith('sha256:')) putSecret(file, tokenHash(value));
}

/** The token that the worker presents; undefined when its keys are removed. */
export const presentedToken = (home: WorkerHome, state: WorkerState): string | undefined =>
  readSecret(join(home.keysDir, workerVariables(state).presents));

/** Removes every token of the worker. */
export function removeWorkerKeys(home: WorkerHome): void {
  rmSync(dirname(home.keysDir), { recursive: true, force: true });
}
