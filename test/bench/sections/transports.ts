import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { memberEnv } from '@hermes-fleet/cli';
import { median, P99_SAMPLES, quantile } from '../frame/quantile.ts';
import { alternate, ratios } from '../frame/rounds.ts';
import type { BenchContext, Figure, Section, Table } from '../frame/section.ts';
import { format } from '../frame/table.ts';
import { CONCERNS, type DecisionKind } from '../http/decision-body.ts';
import { startServer } from '../http/server.ts';
import { ROUND, type RoundOrder, roundOf, WARM_UP } from '../http/server-round.ts';
import { writeTraderHome } from '../http/trader-home.ts';
import { decisionRun } from '../store/decisions.ts';

const DESK = 'desk';
const TITLES: Readonly<Record<DecisionKind, string>> = { jsonrpc: 'JSON-RPC', mcp: 'MCP', a2a: 'A2A' };
const KINDS = Object.keys(TITLES) as DecisionKind[];
const EXPECT = '"status":"applied"';

interface DecisionRound {
  readonly rate: number;
  readonly cpuUs: number;
  readonly p50: number;
  readonly p99: number;
  readonly count: number;
}

type RoundsOf = (name: string) => readonly DecisionRound[];

/** Applied decisions over the three transports of a whole trader, beside the decision service alone, without HTTP and engines. */
export const transportsSection: Section = {
  name: 'transports',
  about: 'decisions over JSON-RPC, MCP and A2A beside the decision service alone',
  isDefault: true,
  async run(context) {
    await using opened = new AsyncDisposableStack();
    const run = await startTrader(context, opened);
    for (const kind of KINDS) await run(kind, WARM_UP);
    const tables: Table[] = [];
    const figures: Figure[] = [];
    const concurrencies = context.concurrency.filter((concurrency) => concurrency <= CONCERNS);
    for (const concurrency of concurrencies.toSorted((a, b) => b - a)) {
      const of = await alternate(context.rounds, [
        [DESK, () => deskRound(context.dir, concurrency)] as const,
        ...KINDS.map((kind) => [kind, () => run(kind, { ...ROUND, concurrency })] as const),
      ]);
      tables.push(tableOf(concurrency, of));
      figures.push(...figuresOf(concurrency, of));
    }
    return { tables, figures };
  },
};

async function startTrader(context: BenchContext, opened: AsyncDisposableStack) {
  const { NODE_OPTIONS: nodeOptions = '' } = memberEnv(
    context.plan,
    context.plan.trader ?? context.plan.console,
  );
  const dir = join(context.dir, 'transports');
  mkdirSync(dir);
  writeTraderHome(dir);
  const core = context.cores?.server;
  const server = opened.use(await startServer({ file: 'trader.ts', dir, core, nodeOptions }));
  const load = await context.load();
  return (kind: DecisionKind, one: Omit<RoundOrder, 'kind' | 'expect'>): Promise<DecisionRound> =>
    roundOf(load, server, { kind, expect: EXPECT, ...one });
}

async function deskRound(dir: string, parallel: number): Promise<DecisionRound> {
  const { rate, cpuUs, latencies } = await decisionRun(dir, parallel, ROUND.ms);
  const count = latencies.length;
  const p99 = count < P99_SAMPLES ? Number.NaN : quantile([...latencies], 0.99);
  return { rate, cpuUs, p50: quantile([...latencies], 0.5), p99, count };
}

function tableOf(concurrency: number, of: RoundsOf): Table {
  const row = (name: string, title: string): string[] => {
    const cell = (value: (round: DecisionRound) => number): string => format(median(of(name).map(value)));
    const ratio = (value: (round: DecisionRound) => number): string =>
      format(median(ratios(of(name).map(value), of(DESK).map(value))));
    return [
      title,
      ...[cell(({ rate }) => rate), ratio(({ rate }) => rate)],
      ...[cell(({ cpuUs }) => cpuUs), ratio(({ cpuUs }) => cpuUs)],
      ...[cell(({ p50 }) => p50), ratio(({ p50 }) => p50), cell(({ p99 }) => p99)],
      String(Math.min(...of(name).map(({ count }) => count))),
    ];
  };
  return {
    title: `Transports: applied decisions of the trader, ${concurrency} at a time; ratios to its decision service alone, in this process`,
    head: ['', 'per second', 'ratio', 'CPU µs', 'ratio', 'p50 ms', 'ratio', 'p99 ms', 'fewest samples'],
    rows: [row(DESK, 'decision service alone'), ...KINDS.map((kind) => row(kind, TITLES[kind]))],
  };
}

const figuresOf = (concurrency: number, of: RoundsOf): Figure[] =>
  KINDS.flatMap((kind): Figure[] => {
    const samples = Math.min(...[...of(kind), ...of(DESK)].map(({ count }) => count));
    const figure = (
      what: string,
      better: Figure['better'],
      value: (round: DecisionRound) => number,
    ): Figure => ({
      key: `transports.${concurrency}.${kind}_${what}_to_desk`,
      unit: 'ratio',
      better,
      values: ratios(of(kind).map(value), of(DESK).map(value)),
      samples,
    });
    return [
      figure('rate', 'higher', ({ rate }) => rate),
      figure('cpu', 'lower', ({ cpuUs }) => cpuUs),
      figure('p50', 'lower', ({ p50 }) => p50),
    ];
  });
