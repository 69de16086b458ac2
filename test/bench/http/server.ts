import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freeOffset } from '../../support/ports.ts';
import { startChild } from '../frame/child.ts';
import { onCore } from '../frame/machine.ts';

const TOKEN = 'token-of-the-bench-0123456789abcdef';
const START_MS = 60_000;
const POLL_MS = 25;
/** The first port of a fleet; the offset makes it free. */
const FIRST_PORT = 9219;
/** `sysconf(_SC_CLK_TCK)` of Linux on every architecture that Node runs on. */
const TICKS_PER_S = 100;

/** A server of test/bench/servers that runs. */
export interface BenchServer extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
  /** Processor time of all threads so far, in µs; in steps of 10 ms. */
  cpuUs(): number;
  /** Everything that was written to files, logs and sockets so far, in bytes. */
  writtenBytes(): number;
  /** Resident memory, in MB. */
  rssMb(): number;
}

export interface ServerOptions {
  readonly file: 'member.ts' | 'sdk.ts' | 'bare.ts' | 'collector.ts' | 'trader.ts';
  readonly args?: readonly string[];
  /** An empty folder for its configuration and files. */
  readonly dir: string;
  readonly core: number | undefined;
  /** `NODE_OPTIONS` of the server. */
  readonly nodeOptions: string;
  /** Further variables. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * While a server waits for its next round, V8 would give memory back after eight seconds and drop optimized code, and the next
 * requests would cost up to three times as much. A server under load does not do that, so no contender does.
 */
const UNDER_LOAD = '--no-memory-reducer';

/** Starts a server on 127.0.0.1 and waits until it answers. Its log goes to /dev/null, at the level of production. */
export async function startServer(options: ServerOptions): Promise<BenchServer> {
  const port = FIRST_PORT + (await freeOffset());
  writeHome(options.dir, port);
  const program = [process.execPath, UNDER_LOAD, join(import.meta.dirname, '../servers', options.file)];
  const child = startChild({
    command: onCore(options.core, [...program, ...(options.args ?? [])]),
    env: {
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('OTEL_'))),
      HERMES_HOME: options.dir,
      BENCH_TOKEN: TOKEN,
      PORT: String(port),
      LOG_LEVEL: 'info',
      NODE_OPTIONS: options.nodeOptions,
      ...options.env,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const of = (file: string): string => {
    const end = child.end();
    if (end !== undefined) throw new Error(`${options.file} does not run any more: ${end}`);
    return readFileSync(`/proc/${child.process.pid}/${file}`, 'utf8');
  };
  const url = `http://127.0.0.1:${port}`;
  const server: BenchServer = {
    url,
    token: TOKEN,
    cpuUs() {
      const stat = of('stat');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return ((Number(fields[11]) + Number(fields[12])) * 1_000_000) / TICKS_PER_S;
    },
    writtenBytes: () => Number(/^wchar: (\d+)/m.exec(of('io'))?.[1]),
    rssMb: () => Number(/^VmRSS:\s+(\d+) kB/m.exec(of('status'))?.[1]) / 1_024,
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
  const giveUpAt = performance.now() + START_MS;
  while (!(await answers(url))) {
    const end = child.end();
    if (end === undefined && performance.now() < giveUpAt) {
      await sleep(POLL_MS);
      continue;
    }
    await server[Symbol.asyncDispose]();
    throw new Error(
      `${options.file} does not answer on ${url}: ${end ?? `${START_MS / 1_000} s have passed`}`,
    );
  }
  return server;
}

/** Whether it listens; servers without `/ready` answer 404. */
async function answers(url: string): Promise<boolean> {
  try {
    const { status, body } = await fetch(`${url}/ready`, { signal: AbortSignal.timeout(1_000) });
    await body?.cancel();
    return status !== 503;
  } catch {
    return false;
  }
}

/** The configuration of the profile in `servers/member.ts`; the other servers do not read it. */
function writeHome(home: string, port: number): void {
  const dir = join(home, 'profiles/bench');
  mkdirSync(dir, { recursive: true });
  const callers = { operator: { token_env: 'BENCH_TOKEN', scopes: ['announce', 'dispatch', 'read'] } };
  const fleet = {
    tier: 'sonnet',
    response_handler: 'echo',
    limits: { max_concurrent_tasks: 64 },
    server: { bind_port: port, callers },
  };
  writeFileSync(join(dir, 'fleet.yaml'), JSON.stringify({ fleet }));
  writeFileSync(join(dir, 'config.yaml'), 'model: offline/runbook\n');
  writeFileSync(join(dir, 'IDENTITY.md'), '---\nname: bench\ndescription: A bench.\n---\n# bench\n');
}
