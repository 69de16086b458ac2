import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Clock, silentLog, systemClock } from '@hermes-fleet/protocol/ports';
import type { McpServerConfig, StdioServerConfig } from '../src/config.ts';
import { createMcpPool, type McpPool, type McpPoolOptions } from '../src/pool.ts';
import type { TaskPlace } from '../src/task-servers.ts';

const STDIO_SERVER = fileURLToPath(new URL('./stdio-server.ts', import.meta.url));

/** Options of a probe that always measures. */
export const now = { maxAgeMs: 0, timeoutMs: 20_000 };

/** Options of a call that has time enough on a busy machine. */
export const longTimeout = () => ({ signal: new AbortController().signal, timeoutMs: 20_000 });

/** The configuration of the fixture server in one of its modes. */
export function fixture(mode: string, env?: Record<string, string>): StdioServerConfig {
  return { command: process.execPath, args: [STDIO_SERVER, mode], ...(env ? { env } : {}), scope: 'profile' };
}

/** The real clock, except that timers of `ms` fire only in fire(). */
export function manualTimerClock(ms: number): Clock & { fire(): void } {
  const held = new Set<() => void>();
  return {
    ...systemClock,
    timer: (fn, wait) => {
      if (wait !== ms) return systemClock.timer(fn, wait);
      held.add(fn);
      return { [Symbol.dispose]: () => void held.delete(fn) };
    },
    fire: () => {
      const due = [...held];
      held.clear();
      for (const fn of due) fn();
    },
  };
}

/** A pool that is closed when the test ends. */
export function openPool(
  t: TestContext,
  servers: Record<string, McpServerConfig>,
  extra: Partial<McpPoolOptions> = {},
): McpPool {
  const pool = createMcpPool({ servers, clock: systemClock, log: silentLog, ...extra });
  t.after(() => pool.close());
  return pool;
}

/** A context with an empty tree, whose servers see the variable PLACE. */
export function placeOf(root: string, context: string): TaskPlace {
  const dir = join(root, context);
  mkdirSync(dir, { recursive: true });
  return {
    context,
    dir,
    wrap: (command, args) => ({ command: '/usr/bin/env', args: [`PLACE=${dir}`, command, ...args] }),
  };
}

/** Waits until a server is in a state. */
export async function untilState(pool: McpPool, name: string, state: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const check = (): void => {
    if (pool.health()[name]?.state === state) resolve();
  };
  using _subscription = pool.onChange(check);
  check();
  // The pool's own timers don't keep a process alive.
  const alive = setInterval(() => {}, 1e6);
  await promise.finally(() => clearInterval(alive));
}

/** True for a running process, false for a zombie. */
export function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !stat.slice(stat.lastIndexOf(')')).startsWith(') Z');
  } catch {
    return false;
  }
}

/** Waits for the effect of SIGKILL, bounded by the test's timeout. */
export async function untilGone(pid: number): Promise<void> {
  while (isRunning(pid)) await new Promise((resolve) => setTimeout(resolve, 5));
}
