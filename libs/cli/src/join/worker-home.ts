import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { OPERATOR, tokenVariable } from '../keys/layout.ts';
import { LOCK_FILES } from '../local/folder-lock.ts';
import { nodeOptions, type PlannedProcess } from '../local/plan.ts';

/** The names of gateways, and so of workers and orchestrators. */
export const PROFILE_NAME = /^[a-z][a-z0-9-]{0,62}$/;

const Place = z.object({ host: z.string(), port: z.number() });

/**
 * How far a worker has come. `joining`: the orchestrator may know it or not; `joined`; `left`: the orchestrator has forgotten
 * it, and what is left to do is here.
 */
const WorkerState = z.object({
  phase: z.enum(['joining', 'joined', 'left']),
  name: z.string().regex(PROFILE_NAME),
  orchestrator: z.object({ name: z.string().regex(PROFILE_NAME), url: z.url() }),
  /** The hash of its join token. */
  joinToken: z.string(),
  endpoint: z.url(),
  bind: Place,
  workspaceDir: z.string(),
  /** For its connections: issuers that it trusts, and its client certificate. */
  tls: z.object({ ca_file: z.string(), cert_file: z.string(), key_file: z.string() }).partial().optional(),
  /** The certificate with which it serves https. Without it, it serves http, to a reverse proxy for example. */
  serverTls: z.object({ cert_file: z.string(), key_file: z.string() }).optional(),
});
export type WorkerState = z.output<typeof WorkerState>;

/** The folders and files of a worker that joined: everything that it has on this machine. */
export interface WorkerHome {
  readonly dir: string;
  readonly stateFile: string;
  /** HERMES_HOME: holds `profiles/<name>/`. */
  readonly profileDir: string;
  readonly keysDir: string;
  readonly operatorToken: string;
  readonly stateDir: string;
  readonly runDir: string;
  readonly cacheDir: string;
  /** The gateway, to start and to stop. */
  readonly gateway: PlannedProcess;
}

export function workerHome(
  folder: string,
  { name, bind }: { readonly name: string; readonly bind: { readonly host: string; readonly port: number } },
): WorkerHome {
  const dir = resolve(folder);
  const host = bind.host === '0.0.0.0' || bind.host === '::' ? '127.0.0.1' : bind.host;
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${bind.port}`;
  return {
    dir,
    stateFile: join(dir, 'worker.json'),
    profileDir: join(dir, 'profiles', name),
    keysDir: join(dir, 'keys', name),
    operatorToken: join(dir, 'keys', OPERATOR, 'token'),
    stateDir: join(dir, 'state'),
    runDir: join(dir, 'run'),
    cacheDir: join(dir, 'cache'),
    gateway: {
      name,
      port: bind.port,
      url,
      readyUrl: `${url}/health`,
      logFile: join(dir, 'logs', `${name}.log`),
    },
  };
}

/** The state of the worker in a folder; undefined for a folder that is empty or missing. Throws CONFIG_INVALID. */
export function readWorkerState(folder: string): WorkerState | undefined {
  const file = join(folder, 'worker.json');
  if (!existsSync(file)) {
    if (!existsSync(folder) || readdirSync(folder).every((name) => LOCK_FILES.has(name))) return undefined;
    throw new FleetError(
      'CONFIG_INVALID',
      `${folder} is not empty, and no worker's: name another folder with --dir, nothing was changed`,
    );
  }
  try {
    return WorkerState.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (cause) {
    throw new FleetError('CONFIG_INVALID', `${file} is not readable: it was not written by fleet join`, {
      cause,
    });
  }
}

/** Writes the state, so that a reader sees the former one or this one. */
export function writeWorkerState(home: Pick<WorkerHome, 'dir' | 'stateFile'>, state: WorkerState): void {
  const temporary = `${home.stateFile}.tmp`;
  writeFileSync(temporary, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600, flush: true });
  renameSync(temporary, home.stateFile);
}

/** Creates the folders: those with secrets are 0700; commands of the agent may pass through to the workspace. */
export function prepareHome(home: WorkerHome, workspaceDir: string): void {
  const asRoot = process.getuid?.() === 0;
  const folders: [path: string, mode: number][] = [
    [home.dir, 0o711],
    [join(home.dir, 'keys'), 0o700],
    [home.stateDir, 0o700],
    [home.runDir, 0o700],
    [home.cacheDir, 0o700],
    [join(home.dir, 'profiles'), 0o755],
    [home.profileDir, 0o755],
  ];
  for (const [path, mode] of folders) {
    mkdirSync(path, { recursive: true, mode });
    chmodSync(path, mode);
  }
  if (existsSync(workspaceDir)) return;
  mkdirSync(workspaceDir, { recursive: true });
  chmodSync(workspaceDir, asRoot ? 0o755 : 0o700);
}

/** The variables with the worker's tokens: what it presents to the orchestrator, and what it accepts from it. */
export const workerVariables = ({ name, orchestrator }: Pick<WorkerState, 'name' | 'orchestrator'>) => ({
  presents: tokenVariable(name, orchestrator.name),
  accepts: tokenVariable(orchestrator.name, name),
  operator: tokenVariable(OPERATOR, name),
});

/** The environment of the worker's gateway. Tokens, NATS_* and HERMES_* variables are not inherited. */
export function workerEnv(
  home: WorkerHome,
  { workspaceDir }: Pick<WorkerState, 'workspaceDir'>,
  env: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  const inherited = Object.entries(env).filter(
    ([name]) => name === 'HERMES_COMMAND_USERS' || !/^(A2A_HERMES_TOKEN_|NATS_|HERMES_)/.test(name),
  );
  return {
    NODE_COMPILE_CACHE: home.cacheDir,
    ...Object.fromEntries(inherited),
    NODE_OPTIONS: nodeOptions('--max-semi-space-size=32', env.NODE_OPTIONS),
    HERMES_HOME: home.dir,
    HERMES_KEYS_DIR: home.keysDir,
    HERMES_STATE_DIR: home.stateDir,
    HERMES_WORKSPACE_DIR: workspaceDir,
  };
}
