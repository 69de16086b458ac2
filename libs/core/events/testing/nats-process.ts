import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

const START_TIMEOUT_MS = 20_000;
const STOP_TIMEOUT_MS = 10_000;

/** A nats-server process that can be started again with the same configuration. */
export interface NatsProcess {
  pid(): number | undefined;
  /** Resolves when the server accepts connections, with its port for clients. */
  start(): Promise<number>;
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
}

/** Prepares a nats-server, which also ends with this process. */
export function natsProcess(options: {
  readonly configFile: string;
  readonly binary?: string;
  readonly env?: Readonly<Record<string, string>>;
}): NatsProcess {
  const binary = options.binary ?? (process.env.NATS_SERVER_BIN || 'nats-server');
  let child: ChildProcess | undefined;
  const killAtExit = (): void => void child?.kill('SIGKILL');
  const end = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    const running = child;
    child = undefined;
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return;
    const gone = once(running, 'exit');
    running.kill(signal);
    const hard = setTimeout(() => running.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await gone;
    clearTimeout(hard);
    process.off('exit', killAtExit);
  };
  return {
    pid: () => child?.pid,
    start: async () => {
      await end('SIGKILL');
      process.on('exit', killAtExit);
      child = spawn(binary, ['--config', options.configFile], {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: { ...process.env, ...options.env },
      });
      return await untilReady(child);
    },
    end,
  };
}

/** Resolves when the server says that it takes connections; its output is read to the end, so that it never blocks. */
async function untilReady(child: ChildProcess): Promise<number> {
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
  if (child.stderr === null) throw new Error('the output of nats-server is not read');
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (lines.length < 50) lines.push(line);
    const listening = /Listening for client connections on \S+:(\d+)/.exec(line);
    if (listening) port = Number(listening[1]);
    if (line.includes('Server is ready')) ready.resolve(port);
  });
  try {
    return await ready.promise;
  } finally {
    clearTimeout(deadline);
  }
}
