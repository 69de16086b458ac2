import { setTimeout as sleep } from 'node:timers/promises';
import {
  type FleetPlan,
  fleetDown,
  fleetUp,
  readOperatorToken,
  runningProcess,
  waitUntilSettled,
} from '@hermes-fleet/cli';
import { systemClock as clock } from '@hermes-fleet/protocol';
import { silentLog } from '@hermes-fleet/protocol/testing';
import type { Target } from '../../support/rpc.ts';
import { format, median, printTable } from '../frame/table.ts';
import {
  blockedDispatch,
  burst,
  type Latency,
  latencyOf,
  rateOf,
  refusedDispatch,
  smallDispatch,
} from './dispatches.ts';
import { type Memory, memoryBelow, memoryOf } from './memory.ts';
import { timeToReady } from './start.ts';

const IDLE_MS = 2_000;
const PARALLEL = 8;
const STOP_MS = 10_000;
const NO_MEMORY = {
  own: { rss: Number.NaN, pss: Number.NaN },
  servers: { rss: Number.NaN, pss: Number.NaN },
};

/** Start time and memory of a whole fleet. Starts it twice, because the first start compiles; leaves it running. */
export async function benchStarts(plan: FleetPlan): Promise<void> {
  const first = await up(plan);
  const compiling = await memory(plan);
  await fleetDown({ plan, clock, graceMs: STOP_MS });
  const second = await up(plan);
  const compiled = await memory(plan);
  printTable(
    'Whole fleet, including NATS, started in parallel',
    ['', 'ready in s'],
    [
      ['first start, with keys and workspaces', format(first)],
      ['second start', format(second)],
    ],
  );
  printTable(
    `Memory in MB, idle ${IDLE_MS / 1000} s after the first announces`,
    ['', 'gateway RSS', 'gateway PSS', 'first start RSS', 'MCP servers RSS', 'MCP servers PSS'],
    plan.members.map(({ name }, index) => {
      const { own, servers } = compiled[index] ?? NO_MEMORY;
      const before = compiling[index] ?? NO_MEMORY;
      return [name, ...[own.rss, own.pss, before.own.rss, servers.rss, servers.pss].map(format)];
    }),
  );
}

async function up(plan: FleetPlan): Promise<number> {
  const startedAt = performance.now();
  const outcomes = await fleetUp({
    plan,
    env: { ...process.env, LOG_LEVEL: 'error' },
    clock,
    log: silentLog,
  });
  const failed = outcomes.filter(({ state }) => state === 'failed');
  if (failed.length > 0) throw new Error(failed.map(({ name, reason }) => `${name} ${reason}`).join('\n'));
  const seconds = (performance.now() - startedAt) / 1000;
  const silentPeers = await waitUntilSettled({ url: urlOf(plan, 'switch'), deadlineMs: 30_000, clock });
  if (silentPeers.length > 0) throw new Error(`switch has not heard from ${silentPeers.join(', ')}`);
  return seconds;
}

async function memory(plan: FleetPlan): Promise<{ own: Memory; servers: Memory }[]> {
  await sleep(IDLE_MS);
  return plan.members.map(({ name }) => {
    const pid = runningProcess(plan.runDir, name)?.pid;
    if (pid === undefined) throw new Error(`${name} is not running`);
    return { own: memoryOf(pid), servers: memoryBelow(pid) };
  });
}

/** Latency and throughput of dispatches to the running fleet. */
export async function benchDispatches(plan: FleetPlan, runs: number): Promise<void> {
  const at = (profile: string): Target => ({
    url: urlOf(plan, profile),
    token: readOperatorToken(plan.keysDir),
  });
  const row = (name: string, { samples, p50, p99, max }: Latency, base: number): string[] => [
    name,
    String(samples),
    ...[p50, p99, max, p50 / base].map(format),
  ];
  const blockedOn = await latencyOf(blockedDispatch(at('neo')), 300, 3_000);
  const blockedBy = await latencyOf(blockedDispatch(at('switch')), 300, 3_000);
  const refusedOn = await latencyOf(refusedDispatch(at('neo'), 'neo'), 300, 3_000);
  const refusedVia = await latencyOf(refusedDispatch(at('switch'), 'neo'), 300, 3_000);
  const smallOn = await latencyOf(smallDispatch(at('neo')), 50, 6_000);
  const smallVia = await latencyOf(smallDispatch(at('switch')), 50, 6_000);
  printTable(
    'Dispatch latency in ms, one at a time, measured by the caller',
    ['', 'samples', 'p50', 'p99', 'max', 'p50 ratio'],
    [
      row('blocked, on a worker', blockedOn, blockedOn.p50),
      row('blocked, by switch', blockedBy, blockedOn.p50),
      row('refused, on a worker', refusedOn, refusedOn.p50),
      row('refused by a worker, through switch', refusedVia, refusedOn.p50),
      row('one command, on a worker', smallOn, smallOn.p50),
      row('one command, through switch', smallVia, smallOn.p50),
    ],
  );
  const [blocked, small]: [number[], number[]] = [[], []];
  for (let run = 0; run < runs; run += 1) {
    blocked.push(await rateOf(blockedDispatch(at('switch')), PARALLEL, 1_000));
    small.push(await rateOf(smallDispatch(at('switch')), PARALLEL, 2_500));
  }
  printTable(
    `Dispatches through switch, ${PARALLEL} at a time`,
    ['', 'per second'],
    [
      ['blocked', format(median(blocked))],
      ['one command', format(median(small))],
    ],
  );
}

/** The default of `fleet.limits.max_concurrent_tasks`. */
const SLOTS = 4;

/** How close bursts of tasks through switch come to the ideal, in which no slot of a worker is free while a task waits. */
export async function benchBursts(plan: FleetPlan): Promise<void> {
  const target = { url: urlOf(plan, 'switch'), token: readOperatorToken(plan.keysDir) };
  const workers = plan.profiles.length - 1;
  const rows: string[][] = [];
  for (const count of [60, 100]) {
    const { seconds, byWorker } = await burst(target, count);
    const ideal = Math.ceil(count / (workers * SLOTS)) * 2;
    const spread = Object.entries(byWorker).sort();
    rows.push([
      `${count} tasks`,
      ...[seconds, ideal, seconds / ideal].map(format),
      spread.map(([worker, done]) => `${worker} ${done}`).join(', '),
    ]);
  }
  printTable(
    `Tasks of 2 s, sent at once through switch to ${workers} workers of ${SLOTS} slots; aim: within 1.25 of the ideal`,
    ['', 'seconds', 'ideal', 'ratio', 'by worker'],
    rows,
  );
}

/** Stops the fleet, then measures the start of one service at a time, with the ledger that the dispatches left. */
export async function benchServiceStarts(plan: FleetPlan, runs: number): Promise<void> {
  await fleetDown({ plan, clock, graceMs: STOP_MS });
  const rows: string[][] = [];
  for (const member of plan.members) {
    const times: number[] = [];
    for (let run = 0; run < runs; run += 1) times.push(await timeToReady(plan, member));
    rows.push([member.name, format(median(times)), format(Math.max(...times))]);
  }
  printTable('Time to ready in ms, one service at a time', ['', 'median', 'slowest'], rows);
}

function urlOf(plan: FleetPlan, profile: string): string {
  const found = plan.profiles.find(({ name }) => name === profile);
  if (!found) throw new Error(`no profile ${profile}`);
  return found.url;
}
