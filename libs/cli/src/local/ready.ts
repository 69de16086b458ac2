import { createConnection } from 'node:net';
import type { Clock } from '@hermes-fleet/protocol';

const INTERVAL_MS = 100;
const REQUEST_MS = 2_000;

/**
 * Asks an address until it answers 200. Returns undefined then, else why not: the reason of `ended` (the process is
 * gone), or what the last answer was when `deadlineMs` is over.
 */
export async function waitUntilReady(o: {
  readonly url: string;
  readonly deadlineMs: number;
  readonly ended: AbortSignal;
  readonly clock: Clock;
}): Promise<string | undefined> {
  const giveUpAt = o.clock.now() + o.deadlineMs;
  let last = '';
  while (!o.ended.aborted) {
    const answer = await probe(o.url);
    if (answer === undefined) return undefined;
    last = answer;
    if (o.clock.now() >= giveUpAt) return `is not ready after ${o.deadlineMs / 1000} s: ${last}`;
    await o.clock.sleep(INTERVAL_MS, o.ended).catch(() => undefined);
  }
  return String(o.ended.reason);
}

/** Undefined for 200, else what came instead. */
export async function probe(url: string): Promise<string | undefined> {
  try {
    const reply = await fetch(url, { signal: AbortSignal.timeout(REQUEST_MS) });
    const text = (await reply.text()).slice(0, 500);
    return reply.ok ? undefined : `${url} answers ${reply.status} ${text}`;
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return `${url}: ${cause instanceof Error ? cause.message || cause.name : String(cause)}`;
  }
}

const TAKEN_FOR = 10;

/**
 * Whether a port of this machine is in use, and stays so for a second: a process that was killed just now may hold its
 * sockets for a moment longer than its pid.
 */
export async function isTaken(port: number, clock: Clock): Promise<boolean> {
  for (let look = 0; look < TAKEN_FOR; look += 1) {
    if (!(await answers(port))) return false;
    await clock.sleep(INTERVAL_MS);
  }
  return true;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port, timeout: REQUEST_MS });
    const answer = (taken: boolean) => (): void => {
      resolve(taken);
      socket.destroy();
    };
    socket.once('connect', answer(true));
    socket.once('timeout', answer(true));
    socket.once('error', answer(false));
  });
}
