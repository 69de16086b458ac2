import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createClient } from '@hermes-fleet/net';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { stringify } from 'yaml';
import { ROOT, runProgram, until } from './fleet.ts';
import { freeOffset } from './ports.ts';
import type { Target } from './rpc.ts';

/** Any certificate will do: it is the profile's own. */
const ask = createClient('configured', { tls: 'unverified' });

const TOKEN = 'token-of-the-test-as-operator-0123456789';

/** One profile as a process with its own home, without a broker. */
export interface LoneProfile extends Target {
  readonly token: string;
  readonly ledgerFile: string;
  readonly pid: number;
  /** Its output so far. */
  log(): string;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves when it is gone. */
  stop(): Promise<void>;
  /** Starts it again on the same home and port, with these variables beside its own. */
  start(more?: Readonly<Record<string, string>>): Promise<void>;
  /** Runs its entry point with these flags beside the profile; what it prints. */
  run(...flags: string[]): Promise<string>;
  /** The findings of `--doctor`, a line each. */
  doctor(): Promise<string[]>;
}

type Section = Record<string, unknown>;

export interface LoneProfileOptions {
  readonly name?: string;
  /** Default: a free one. */
  readonly port?: number;
  /** The `fleet` section, beside what every profile needs. */
  readonly fleet?: Section;
  /** The `fleet.server` section, beside port and callers. */
  readonly server?: Section;
  /** Callers beside the operator. */
  readonly callers?: Section;
  /** config.yaml, beside the model. */
  readonly config?: Section;
  readonly env?: Record<string, string>;
  /** A command line that starts the entry point's, which follows it: a shell that opens files, or that becomes another user. */
  readonly startedBy?: readonly string[];
  /** Whom the home belongs to; default: this user. */
  readonly owner?: number;
  /** The number of files and connections that the process may have open. */
  readonly maxOpenFiles?: number;
}

/** Starts a profile of this configuration; it ends with the test. */
export async function startProfile(
  t: TestContext,
  {
    name = 'switch',
    port: ownPort,
    fleet = {},
    server: own = {},
    callers = {},
    config = {},
    env = {},
    startedBy = [],
    owner,
    maxOpenFiles,
  }: LoneProfileOptions = {},
): Promise<LoneProfile> {
  let child: ChildProcess | undefined;
  const home = tempDir(t, { closeFirst: () => end('SIGTERM') });
  // Commands of the agent pass through it on the way to their workspace.
  chmodSync(home, 0o711);
  const port = ownPort ?? 9219 + (await freeOffset());
  const dir = join(home, 'profiles', name);
  mkdirSync(dir, { recursive: true });
  const server = {
    bind_port: port,
    callers: {
      operator: { token_env: 'OPERATOR_TOKEN', scopes: ['announce', 'dispatch', 'read'] },
      ...callers,
    },
    ...own,
  };
  writeFileSync(join(dir, 'fleet.yaml'), stringify({ fleet: { tier: 'sonnet', server, ...fleet } }));
  writeFileSync(join(dir, 'config.yaml'), stringify({ model: 'offline/runbook', ...config }));
  writeFileSync(
    join(dir, 'IDENTITY.md'),
    `---\nname: ${name}\ndescription: A profile of a test.\n---\n# ${name}\n`,
  );
  if (owner !== undefined)
    for (const path of ['.', ...readdirSync(home, { recursive: true, encoding: 'utf8' })])
      chownSync(join(home, path), owner, owner);
  const isTls = own.tls !== undefined;
  const url = isTls ? `https://localhost:${port}` : `http://127.0.0.1:${port}`;
  let log = '';

  async function end(signal: NodeJS.Signals): Promise<void> {
    const running = child;
    child = undefined;
    if (!running || running.exitCode !== null || running.signalCode !== null) return;
    const gone = new Promise((resolve) => running.once('exit', resolve));
    running.kill(signal);
    await gone;
  }
  const main = join(ROOT, 'services/profile/src/main.ts');
  const environment = {
    ...process.env,
    ...{ HERMES_HOME: home, OPERATOR_TOKEN: TOKEN, LOG_LEVEL: 'debug' },
    ...env,
  };
  const start = async (more: Readonly<Record<string, string>> = {}): Promise<void> => {
    const limit = maxOpenFiles === undefined ? '' : `ulimit -n ${maxOpenFiles}; `;
    const started = spawn(
      '/bin/sh',
      ['-c', `${limit}exec "$@"`, 'sh', ...startedBy, process.execPath, main, '--profile', name],
      {
        cwd: ROOT,
        env: { ...environment, ...more },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    child = started;
    for (const stream of [started.stdout, started.stderr])
      stream?.on('data', (chunk) => {
        log += chunk;
      });
    await until(async () => {
      if (started.exitCode !== null) throw new Error(`${name} ended with ${started.exitCode}:\n${log}`);
      const ready = ask(`${url}/ready`, { signal: AbortSignal.timeout(5_000) });
      return (await ready.catch(() => undefined))?.status === 200;
    }, `${name} to be ready`);
  };
  const run = async (...flags: string[]): Promise<string> => {
    const args = [main, '--profile', name, ...flags];
    return (await runProgram(process.execPath, args, { env: environment })).stdout;
  };
  const doctor = async (): Promise<string[]> => {
    const { findings } = JSON.parse(await run('--doctor')) as { findings: Record<string, string>[] };
    return findings.map(({ state, subject, check, detail }) => `${state} ${subject} ${check}: ${detail}`);
  };
  await start();
  const ledgerFile = join(dir, 'state', 'ledger.db');
  return {
    url,
    token: TOKEN,
    ledgerFile,
    get pid() {
      return child?.pid ?? 0;
    },
    log: () => log,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    start,
    run,
    doctor,
  };
}
