import { createConnection } from 'node:net';
import { createClient } from '@hermes-fleet/net';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { hasDied, runningProcess } from './pid-file.ts';
import type { FleetPlan, PlannedProcess } from './plan.ts';

const INTERVAL_MS = 100;
const REQUEST_MS = 2_000;
const MAX_BYTES = 1_048_576;

/**
 * Polls a URL until it answers 2xx. Resolves with undefined on success, else with the reason: that of `ended`, which
 * aborts when the process ends, or the last answer once `deadlineMs` is over.
 */
export async function waitUntilReady(
  url: string,
  deadlineMs: number,
  ended: AbortSignal,
  clock: Clock,
): Promise<string | undefined> {
  const giveUpAt = clock.now() + deadlineMs;
  while (!ended.aborted) {
    const problem = await probe(url);
    if (problem === undefined) return undefined;
    if (clock.now() >= giveUpAt) return `is not ready after ${deadlineMs / 1000} s: ${problem}`;
    await clock.sleep(INTERVAL_MS, ended).catch(() => undefined);
  }
  return String(ended.reason);
}

/** Undefined for a 2xx answer, or for the greeting of NATS at a `nats:` address; else what went wrong. */
export async function probe(url: string): Promise<string | undefined> {
  if (new URL(url).protocol === 'nats:') return probeNats(url);
  try {
    const reply = await ownAnswer(url);
    const text = (await reply.text()).slice(0, 500);
    return reply.ok ? undefined : `${url} answers ${reply.status} ${text}`;
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return `${url}: ${cause instanceof Error ? cause.message || cause.name : String(cause)}`;
  }
}

/** The answer of a process of this machine, which serves https where its fleet.yaml says so. */
async function ownAnswer(url: string): Promise<Response> {
  const reply = await ask(url, { signal: AbortSignal.timeout(REQUEST_MS) });
  if (reply.status !== 400 || !(await reply.clone().text()).includes('TLS_REQUIRED')) return reply;
  return await ask(url.replace('http:', 'https:'), { signal: AbortSignal.timeout(REQUEST_MS) });
}

/** A certificate of this machine's own process may be for another name, and nothing secret is sent. */
const ask = createClient('configured', { tls: 'unverified', redirects: 'returned', maxBytes: MAX_BYTES });

/** A NATS server greets a client once it serves, JetStream included. */
function probeNats(url: string): Promise<string | undefined> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = createConnection({ host: hostname, port: Number(port), timeout: REQUEST_MS });
    const answer = (problem: string | undefined): void => {
      resolve(problem);
      socket.destroy();
    };
    socket.once('data', (greeting) =>
      answer(greeting.toString('latin1').startsWith('INFO ') ? undefined : `${url} is not a NATS server`),
    );
    socket.once('timeout', () => answer(`${url} does not greet`));
    socket.once('error', (error) => answer(`${url}: ${error.message}`));
    socket.once('close', () => answer(`${url} closes the connection`));
  });
}

const TAKEN_CHECKS = 10;

/**
 * True when a port of this machine stays in use for a second: a process that was just killed can hold its sockets
 * slightly longer than its pid.
 */
export async function isTaken(port: number, clock: Clock): Promise<boolean> {
  for (let checks = 0; checks < TAKEN_CHECKS; checks += 1) {
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

export interface ProcessStatus {
  readonly name: string;
  readonly pid: number | undefined;
  readonly url: string;
  /** `failed`: it died so often that the supervisor leaves it down. */
  readonly state: 'ready' | 'not ready' | 'down' | 'failed';
  readonly detail?: string;
  readonly logFile: string;
}

/** The current state of every process of the fleet. */
export function fleetStatus(plan: FleetPlan): Promise<readonly ProcessStatus[]> {
  return Promise.all(plan.processes.map((planned) => statusOf(plan, planned)));
}

/** The current state of a process. */
export async function statusOf(
  plan: FleetPlan,
  { name, url, readyUrl, logFile }: PlannedProcess,
): Promise<ProcessStatus> {
  const running = runningProcess(plan.runDir, name);
  if (running === undefined) {
    const status: ProcessStatus = { name, pid: undefined, url, state: 'down', logFile };
    return hasDied(plan.runDir, name) ? { ...status, detail: 'has died: its log says why' } : status;
  }
  const detail = await probe(readyUrl);
  if (detail === undefined) return { name, pid: running.pid, url, state: 'ready', logFile };
  return { name, pid: running.pid, url, state: 'not ready', detail, logFile };
}
