import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fleetDown, planFleet } from '@hermes-fleet/cli';
import { systemClock as clock } from '@hermes-fleet/protocol';
import { freeOffset } from '../support/ports.ts';
import { abortTimes } from './agent/abort.ts';
import { benchContexts } from './agent/contexts.ts';
import { clientAlone, type LoopTimes, loopOverhead } from './agent/loop.ts';
import { benchBursts, benchDispatches, benchServiceStarts, benchStarts } from './fleet/fleet.ts';
import { format, median, printTable } from './frame/table.ts';
import { decisionTime, dispatchRequiring, equalFleet, mixedFleet } from './peers/routing.ts';
import { schedulingTime } from './peers/scheduling.ts';
import { decisionRate, rawDecisionRate } from './store/decisions.ts';
import { ledgerRate, rawRate } from './store/ledger.ts';
import { relayRate, startNats } from './store/outbox.ts';

// Benchmarks of a fleet of plain processes. Absolute numbers depend on the machine and its load: compare the ratios
// within one run. Takes about a minute, listens on loopback only, and removes its files.

const RUNS = 3;
/** Steps of the agent loop. */
const STEPS = 50;
/** Aborts of each kind. */
const ABORTS = 8;

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
  console.log(`Hermes Fleet benchmarks: ${machine}; medians of ${RUNS} runs`);
  routing();
  await scheduling();
  await ledger();
  await decisions();
  await loop();
  await aborts();
  await benchContexts();
  await relay();
  await benchStarts(plan);
  await benchDispatches(plan, RUNS);
  await benchBursts(plan);
  await benchServiceStarts(plan, RUNS);
  console.log(`\n${Math.round((performance.now() - startedAt) / 1000)} s`);
} catch (error) {
  console.error(`\nbench: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  await down();
}

/** Target: a median below 1 ms for 1,000 peers. */
function routing(): void {
  const common = dispatchRequiring(['filesystem'], ['file', 'terminal']);
  const impossible = dispatchRequiring(['nope'], []);
  const row = (name: string, decision: { p50: number; p99: number }): string[] => [
    name,
    format(decision.p50),
    format(decision.p99),
  ];
  printTable(
    'Routing: one decision with its explanation, in ms',
    ['', 'p50', 'p99'],
    [
      row('10 peers of every kind', decisionTime(mixedFleet(10), common, 2_000)),
      row('1,000 peers of every kind', decisionTime(mixedFleet(1_000), common, 1_000)),
      row('1,000 equal peers', decisionTime(equalFleet(1_000), common, 1_000)),
      row('1,000 peers, none of them suitable', decisionTime(mixedFleet(1_000), impossible, 1_000)),
    ],
  );
}

/** Target: the cost of a waiting task does not grow with the number of those that wait. */
async function scheduling(): Promise<void> {
  const rows: string[][] = [];
  await schedulingTime(1_000);
  for (const count of [10, 1_000, 10_000]) {
    const settled: number[] = [];
    const unsettled: number[] = [];
    for (let run = 0; run < RUNS; run += 1) {
      settled.push(await schedulingTime(count));
      unsettled.push(await schedulingTime(count, Number.POSITIVE_INFINITY));
    }
    rows.push([
      `${count.toLocaleString('en')} tasks wait`,
      format(median(settled)),
      format(median(unsettled)),
    ]);
  }
  printTable(
    'Scheduling: one task from its arrival to its end, in µs',
    ['', 'each', 'needs may change'],
    rows,
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
    format(median(rates)),
    format(median(rates.map((rate, run) => rate / (raw[run] ?? Number.NaN)))),
  ];
  printTable(
    'Ledger: transactions (accept, 3 × append), durable',
    ['', 'per second', 'ratio to raw'],
    [
      row('SQLite alone, one insert per commit', raw),
      row('ledger, one task at a time', one),
      row('ledger, 64 tasks at a time', many),
    ],
  );
}

/** Targets: 0.7 of the raw rate one at a time, and several times the raw rate with many at once. */
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
    format(median(rates)),
    format(median(rates.map((rate, run) => rate / (raw[run] ?? Number.NaN)))),
  ];
  printTable(
    'Trader: applied decisions, each durable before its answer; targets: ratio 0.7 alone, several in parallel',
    ['', 'per second', 'ratio to raw'],
    [
      row('SQLite alone, the rows of one decision per commit', raw),
      row('trader, one decision at a time', one),
      row('trader, 64 decisions at a time', many),
    ],
  );
}

/** Target: loop overhead below 5 ms per step, excluding the model client. A durable step commits twice. */
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
    return [name, format(ms), format(ms / durable)];
  };
  const rows = (name: string, span: (ms: readonly number[]) => readonly number[]): string[][] => [
    row(`${name}: total`, ({ whole }) => median(span(whole.gaps))),
    row('  model client alone', ({ client }) => median(span(client))),
    row('  loop overhead', ({ whole, client }) => median(span(whole.gaps)) - median(span(client))),
    row('    of which the tool', ({ whole }) => median(span(whole.tools))),
  ];
  printTable(
    'Agent loop: durable step time outside the model, in ms; target: loop overhead below 5 ms',
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
    format(median(ms)),
    format(Math.max(...ms)),
  ];
  printTable(
    'Abort: time until the command or call has ended, in ms; target: below 200 ms',
    ['', 'aborts', 'median', 'slowest'],
    [
      row('command that ignores SIGTERM, with a child: canceled', command.canceled),
      row('  deadline', command.deadline),
      row('hanging model call: canceled', model.canceled),
      row('  deadline', model.deadline),
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
    'Outbox relay: events acknowledged by JetStream, in order',
    ['', 'per second', 'ratio'],
    [
      ['one at a time', format(median(single)), '1'],
      [
        '64 in flight',
        format(median(window)),
        format(median(window.map((rate, run) => rate / (single[run] ?? Number.NaN)))),
      ],
    ],
  );
}
