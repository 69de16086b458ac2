import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FleetError } from '@hermes-fleet/protocol';
import { type NatsConfigOptions, renderNatsConfig } from '../src/streams/nats-config.ts';
import { supportsSyncInterval } from '../src/streams/set-up-streams.ts';
import { natsProcess } from './nats-process.ts';

const VERSION_TIMEOUT_MS = 20_000;

export interface NatsServerOptions extends Partial<Pick<NatsConfigOptions, 'users' | 'monitorPort' | 'tls'>> {
  /** The nats-server to run; default `NATS_SERVER_BIN`, or else `nats-server` on the PATH. */
  readonly binary?: string;
  /** A temporary folder by default. */
  readonly storeDir?: string;
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
        storeDir: options.storeDir ?? join(dir, 'store'),
        host: '127.0.0.1',
        port,
        syncAlways: supportsSyncInterval(version),
        users: options.users ?? [],
        ...(options.tls === undefined ? {} : { tls: options.tls }),
        ...(options.monitorPort === undefined ? {} : { monitorPort: options.monitorPort }),
      }),
      { mode: 0o600 },
    );

  const server = natsProcess({ configFile, binary });
  const stop = async (): Promise<void> => {
    await server.end('SIGTERM');
    await rm(dir, { recursive: true, force: true });
  };
  t?.after(stop);

  try {
    await configure(-1);
    const port = await server.start();
    await configure(port);
    return {
      url: `nats://127.0.0.1:${port}`,
      version,
      pid: server.pid,
      kill: () => server.end('SIGKILL'),
      restart: async () => void (await server.start()),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function versionOf(binary: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(binary, ['--version'], { timeout: VERSION_TIMEOUT_MS });
    return /(\d+\.\d+\.\d+)/.exec(stdout)?.[1] ?? 'unknown';
  } catch (cause) {
    throw new FleetError(
      'CONFIG_INVALID',
      `cannot run ${binary}: install nats-server (package "nats-server" on Debian) or set NATS_SERVER_BIN to its file`,
      { cause },
    );
  }
}
