import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { FleetError } from '@hermes-fleet/protocol';
import { type NatsConfigOptions, renderNatsConfig } from '../streams/nats-config.ts';
import { supportsSyncInterval } from '../streams/set-up-streams.ts';

const START_TIMEOUT_MS = 20_000;
const STOP_TIMEOUT_MS = 10_000;

export interface NatsServerOptions extends Partial<Pick<NatsConfigOptions, 'users' | 'monitorPort' | 'tls'>> {
  /** The nats-server to run; default `NATS_SERVER_BIN`, or else `nats-server` on the PATH. */
  readonly binary?: string;
}

/** A real nats-server with JetStream on 127.0.0.1, for tests. */
export interface NatsServer {
  /** `nats://127.0.0.1:<port>`, unchanged by kills and restarts. */
  readonly url: string;
  /** The version of the binary, e.g. `2.9.10`. */
  readonly version: string;
  /** The pid of the running process. */
  pid(): number | undefined;
  /** Sends SIGKILL; resolves when the process is gone. The store is kept. */
  kill(): Promise<void>;
  /** Kills a running process and starts again on the same port and store; resolves when it accepts connections. */
  restart(): Promise<void>;
  /** Ends the process and removes the store. */
  stop(): Promise<void>;
}

/** Starts a server; with a test context it is stopped after the test. Throws CONFIG_INVALID without nats-server. */
export async function startNatsServer(
  t?: { after(fn: () => Promise<void>): void },
  options: NatsServerOptions = {},
): Promise<NatsServer> {
  const binary = options.binary ?? (process.env.NATS_SERVER_BIN || 'nats-server');
  const version = await versionOf(binary);
  const dir = await mkdtemp(join(tmpdir(), 'fleet-nats-'));
  const configFile = join(dir, 'nats.conf');
  const configure = (port: number): Promise<void> =>
    writeFile(
      configFile,
      renderNatsConfig({
        storeDir: join(dir, 'store'),
        host: '127.0.0.1',
        port,
        syncAlways: supportsSyncInterval(version),
        users: options.users ?? [],
        ...(options.tls === undefined ? {} : { tls: options.tls }),
        ...(options.monitorPort === undefined ? {} : { monitorPort: options.monitorPort }),
      }),
      { mode: 0o600 },
    );

  let child: ChildProcess | undefined;
  const killAtExit = (): void => void child?.kill('SIGKILL');
  process.on('exit', killAtExit);
  const end = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    const running = child;
    child = undefined;
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return;
    const gone = once(running, 'exit');
    running.kill(signal);
    const hard = setTimeout(() => running.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await gone;
    clearTimeout(hard);
  };
  const stop = async (): Promise<void> => {
    await end('SIGTERM');
    process.off('exit', killAtExit);
    await rm(dir, { recursive: true, force: true });
  };
  t?.after(stop);

  try {
    await configure(-1);
    const first = await launch(binary, configFile);
    child = first.child;
    await configure(first.port);
    return {
      url: `nats://127.0.0.1:${first.port}`,
      version,
      pid: () => child?.pid,
      kill: () => end('SIGKILL'),
      restart: async () => {
        await end('SIGKILL');
        child = (await launch(binary, configFile)).child;
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function versionOf(binary: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(binary, ['--version'], { timeout: START_TIMEOUT_MS });
    return /(\d+\.\d+\.\d+)/.exec(stdout)?.[1] ?? 'unknown';
  } catch (cause) {
    throw new FleetError(
      'CONFIG_INVALID',
      `cannot run ${binary}: install nats-server (package "nats-server" on Debian) or set NATS_SERVER_BIN to its file`,
      { cause },
    );
  }
}

/** Resolves when the server says that it takes connections; its output is read to the end, so that it never blocks. */
async function launch(binary: string, configFile: string): Promise<{ child: ChildProcess; port: number }> {
  const child = spawn(binary, ['--config', configFile], { stdio: ['ignore', 'ignore', 'pipe'] });
  const ready = Promise.withResolvers<number>();
  const lines: string[] = [];
  let port = 0;
  const failed = (why: string): void =>
    ready.reject(new Error(`nats-server did not start: ${why}\n${lines.join('\n')}`));
  const deadline = setTimeout(() => {
    failed(`not ready after ${START_TIMEOUT_MS / 1000} s`);
    child.kill('SIGKILL');
  }, START_TIMEOUT_MS);
  child.once('error', (error) => failed(error.message));
  child.once('close', (code, signal) => failed(`it ended with ${code ?? signal}`));
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (lines.length < 50) lines.push(line);
    const listening = /Listening for client connections on \S+:(\d+)/.exec(line);
    if (listening) port = Number(listening[1]);
    if (line.includes('Server is ready')) ready.resolve(port);
  });
  try {
    return { child, port: await ready.promise };
  } finally {
    clearTimeout(deadline);
  }
}
