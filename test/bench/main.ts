import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  fleetDown,
  fleetUp,
  planFleet,
  readOperatorToken,
  runningProcess,
  waitUntilSettled,
} from '@hermes-fleet/cli';
import { systemClock as clock } from '@hermes-fleet/protocol';
import { freeOffset } from '../support/ports.ts';
import type { Target } from '../support/rpc.ts';
import { abortTimes } from './abort.ts';
import { decisionRate, rawDecisionRate } from './decisions.ts';
import {
  blockedDispatch,
  type Latency,
  latencyOf,
  rateOf,
  refusedDispatch,
  smallDispatch,
} from './dispatches.ts';
import { ledgerRate, rawRate } from './ledger.ts';
import { clientAlone, type LoopTimes, loopOverhead } from './loop.ts';
import { type Memory, memoryBelow, memoryOf } from './memory.ts';
import { relayRate, startNats } from './relay.ts';
import { asking, decisionTime, equalFleet, mixedFleet } from './routing.ts';
import { timeToReady } from './start.ts';
import { figure, median, printTable } from './table.ts';

/**
 * First figures of a fleet of plain processes on this machine. Absolute figures are this machine's, at this moment;
 * compare ratios within one run. Takes about a minute, listens on loopback only, and removes what it made.
 */
const RUNS = 3;
/** Of the loop's conversation. */
const STEPS = 50;
/** Of each kind. */
const ABORTS = 8;
const IDLE_MS = 2_000;
const PARALLEL = 8;
const NO_MEMORY = {
  own: { rss: Number.NaN, pss: Number.NaN },
  servers: { rss: Number.NaN, pss: Number.NaN },
};

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const dir = mkdtempSync(join(tmpdir(), 'hermes-bench-'));
const plan = planFleet({ root: resolve(import.meta.dirname, '../..'), dir, portOffset: await freeOffset() });
const down = async (): Promise<void> => {
  await fleetDown({ plan, clock, graceMs: 10_000 });
  rmSync(dir, { recursive: true, force: true });
};
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void down().then(() => process.exit(130)));

try {
  const startedAt = performance.now();
  const machine = `${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}, Node ${process.versions.node}`;
  console.log(`Hermes Fleet, first figures: ${machine}; medians of ${RUNS} runs`);
  routing();
  await ledger();
  await decisions();
  await loop();
  await aborts();
  await relay();
  await fleet();
  await dispatches();
  await start();
  console.log(`\n${Math.round((performance.now() - startedAt) / 1000)} s`);
} catch (error) {
  console.error(`\nbench: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  await down();
}

/** Pure computing; the target is a median below 1 ms for 1,000 peers. */
function routing(): void {
  const some = asking(['filesystem'], ['file', 'terminal']);
  const nobody = asking(['nope'], []);
  const row = (name: string, decision: { p50: number; p99: number }): string[] => [
    name,
    figure(decision.p50),
    figure(decision.p99),
  ];
  printTable(
    'Routing: one decision, explained, in ms',
    ['', 'p50', 'p99'],
    [
      row('10 peers of every kind', decisionTime(mixedFleet(10), some, 2_000)),
      row('1,000 peers of every kind', decisionTime(mixedFleet(1_000), some, 1_000)),
      row('1,000 equal peers', decisionTime(equalFleet(1_000), some, 1_000)),
      row('1,000 peers, none of which can', decisionTime(mixedFleet(1_000), nobody, 1_000)),
    ],
  );
}

async function ledger(): Promise<void> {
  const raw: number[] = [];
  const one: number[] = [];
  const many: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    raw.push(rawRate(dir, 700));
    one.push(await ledgerRate(dir, 1, 700));
    many.push(await ledgerRate(dir, 64, 700));
  }
  const row = (name: string, rates: readonly number[]): string[] => [
    name,
    figure(median(rates)),
    figure(median(rates.map((rate, run) => rate / (raw[run] ?? Number.NaN)))),
  ];
  printTable(
    'Ledger: transactions (accept, 3 × append), durable',
    ['', 'per second', 'ratio to raw'],
    [
      row('SQLite alone, one insert a commit', raw),
      row('ledger, one task at a time', one),
      row('ledger, 64 tasks at a time', many),
    ],
  );
}

/** The targets: 0.7 of the raw rate one at a time, and several times it with many at once. */
async function decisions(): Promise<void> {
  const raw: number[] = [];
  const one: number[] = [];
  const many: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    raw.push(await rawDecisionRate(dir, 1_500));
    one.push(await decisionRate(dir, 1, 1_500));
    many.push(await decisionRate(dir, 64, 1_500));
  }
  const row = (name: string, rates: readonly number[]): string[] => [
    name,
    figure(median(rates)),
    figure(median(rates.map((rate, run) => rate / (raw[run] ?? Number.NaN)))),
  ];
  printTable(
    'Trader: decisions applied, each durable before its answer; target: 0.7 and several',
    ['', 'per second', 'ratio to raw'],
    [
      row('SQLite alone, the rows of one decision a commit', raw),
      row('trader, one decision at a time', one),
      row('trader, 64 decisions at a time', many),
    ],
  );
}

/**
 * The target for what the loop takes above the model's own client is a median below 5 ms a step. A durable step commits
 * twice, so that the disk has its share.
 */
async function loop(): Promise<void> {
  await loopOverhead(dir, STEPS);
  await clientAlone(STEPS);
  const runs: { commit: number; whole: LoopTimes; client: readonly number[] }[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const commit = 1_000 / rawRate(dir, 300);
    runs.push({ commit, whole: await loopOverhead(dir, STEPS), client: await clientAlone(STEPS) });
  }
  const durable = median(runs.map(({ commit }) => commit));
  const row = (name: string, of: (run: (typeof runs)[number]) => number): string[] => {
    const ms = median(runs.map(of));
    return [name, figure(ms), figure(ms / durable)];
  };
  const rows = (name: string, span: (ms: readonly number[]) => readonly number[]): string[][] => [
    row(`${name}: whole`, ({ whole }) => median(span(whole.gaps))),
    row("  the model's client alone", ({ client }) => median(span(client))),
    row('  the loop above it', ({ whole, client }) => median(span(whole.gaps)) - median(span(client))),
    row('    of it the tool', ({ whole }) => median(span(whole.tools))),
  ];
  printTable(
    'Agent loop: a step beside its model, in ms, durable; target: the loop above it below 5 ms',
    ['', 'median', 'ratio to a commit'],
    [
      row('SQLite alone, one commit', ({ commit }) => commit),
      ...rows(`all ${STEPS} steps`, (ms) => ms),
      ...rows('the first 10', (ms) => ms.slice(0, 10)),
      ...rows('the last 10', (ms) => ms.slice(-10)),
    ],
  );
}

async function aborts(): Promise<void> {
  const { command, model } = await abortTimes(ABORTS);
  const row = (name: string, ms: readonly number[]): string[] => [
    name,
    String(ms.length),
    figure(median(ms)),
    figure(Math.max(...ms)),
  ];
  printTable(
    'Abort: until nothing of it is left, in ms; target: below 200 ms',
    ['', 'aborts', 'median', 'slowest'],
    [
      row('a command that ignores SIGTERM, and its child: canceled', command.canceled),
      row('  by a deadline', command.deadline),
      row('a model call that hangs: canceled', model.canceled),
      row('  by a deadline', model.deadline),
    ],
  );
}

async function relay(): Promise<void> {
  await using nats = await startNats(dir, plan.nats.port);
  const single: number[] = [];
  const window: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    single.push(await relayRate(dir, nats, 250, 1));
    window.push(await relayRate(dir, nats, 2_500, 64));
  }
  printTable(
    'Outbox relay: events into JetStream, acknowledged, in order',
    ['', 'per second', 'ratio'],
    [
      ['one at a time', figure(median(single)), '1'],
      [
        '64 on their way',
        figure(median(window)),
        figure(median(window.map((rate, run) => rate / (single[run] ?? Number.NaN)))),
      ],
    ],
  );
}

async function up(): Promise<number> {
  const startedAt = performance.now();
  const outcomes = await fleetUp({ plan, env: { ...process.env, LOG_LEVEL: 'error' }, clock, log: silent });
  const failed = outcomes.filter(({ state }) => state === 'failed');
  if (failed.length > 0) throw new Error(failed.map(({ name, reason }) => `${name} ${reason}`).join('\n'));
  const seconds = (performance.now() - startedAt) / 1000;
  const silentPeers = await waitUntilSettled({ url: urlOf('switch'), deadlineMs: 30_000, clock });
  if (silentPeers.length > 0) throw new Error(`switch has not heard of ${silentPeers.join(', ')}`);
  return seconds;
}

/** Twice, since the first start compiles what later ones find compiled. */
async function fleet(): Promise<void> {
  const first = await up();
  const compiling = await memory();
  await fleetDown({ plan, clock, graceMs: 10_000 });
  const second = await up();
  const compiled = await memory();
  printTable(
    'The whole fleet, NATS included, side by side',
    ['', 'ready in s'],
    [
      ['first start, with keys and workspaces', figure(first)],
      ['second start', figure(second)],
    ],
  );
  printTable(
    `Memory in MB, idle ${IDLE_MS / 1000} s after the first announces`,
    ['', 'gateway RSS', 'gateway PSS', 'first start RSS', 'MCP servers RSS', 'MCP servers PSS'],
    plan.members.map(({ name }, index) => {
      const { own, servers } = compiled[index] ?? NO_MEMORY;
      const before = compiling[index] ?? NO_MEMORY;
      return [name, ...[own.rss, own.pss, before.own.rss, servers.rss, servers.pss].map(figure)];
    }),
  );
}

async function memory(): Promise<{ own: Memory; servers: Memory }[]> {
  await sleep(IDLE_MS);
  return plan.members.map(({ name }) => {
    const pid = runningProcess(plan.runDir, name)?.pid;
    if (pid === undefined) throw new Error(`${name} is not running`);
    return { own: memoryOf(pid), servers: memoryBelow(pid) };
  });
}

async function dispatches(): Promise<void> {
  const at = (profile: string): Target => ({ url: urlOf(profile), token: readOperatorToken(plan.keysDir) });
  const row = (name: string, { samples, p50, p99, max }: Latency, base: number): string[] => [
    name,
    String(samples),
    ...[p50, p99, max, p50 / base].map(figure),
  ];
  const blockedOn = await latencyOf(blockedDispatch(at('neo')), 300, 3_000);
  const blockedBy = await latencyOf(blockedDispatch(at('switch')), 300, 3_000);
  const refusedOn = await latencyOf(refusedDispatch(at('neo'), 'neo'), 300, 3_000);
  const refusedVia = await latencyOf(refusedDispatch(at('switch'), 'neo'), 300, 3_000);
  const smallOn = await latencyOf(smallDispatch(at('neo')), 50, 6_000);
  const smallBy = await latencyOf(smallDispatch(at('switch')), 50, 6_000);
  printTable(
    'Latency in ms, one at a time, as the caller sees it',
    ['', 'samples', 'p50', 'p99', 'max', 'p50 ratio'],
    [
      row('blocked, on a worker', blockedOn, blockedOn.p50),
      row('blocked, by switch', blockedBy, blockedOn.p50),
      row('refused, on a worker', refusedOn, refusedOn.p50),
      row('refused by a worker, through switch', refusedVia, refusedOn.p50),
      row('one command, on a worker', smallOn, smallOn.p50),
      row('one command, through switch', smallBy, smallOn.p50),
    ],
  );
  const [blocked, small]: [number[], number[]] = [[], []];
  for (let run = 0; run < RUNS; run += 1) {
    blocked.push(await rateOf(blockedDispatch(at('switch')), PARALLEL, 1_000));
    small.push(await rateOf(smallDispatch(at('switch')), PARALLEL, 2_500));
  }
  printTable(
    `Dispatches through switch, ${PARALLEL} at a time`,
    ['', 'per second'],
    [
      ['blocked', figure(median(blocked))],
      ['one command', figure(median(small))],
    ],
  );
}

/** One gateway at a time, on the ledger that the dispatches left; NATS and the other profiles are down. */
async function start(): Promise<void> {
  await fleetDown({ plan, clock, graceMs: 10_000 });
  const rows: string[][] = [];
  for (const member of plan.members) {
    const times: number[] = [];
    for (let run = 0; run < RUNS; run += 1) times.push(await timeToReady(plan, member));
    rows.push([member.name, figure(median(times)), figure(Math.max(...times))]);
  }
  printTable('Time to ready in ms, one gateway at a time', ['', 'median', 'slowest'], rows);
}

function urlOf(profile: string): string {
  const found = plan.profiles.find(({ name }) => name === profile);
  if (!found) throw new Error(`no profile ${profile}`);
  return found.url;
}
