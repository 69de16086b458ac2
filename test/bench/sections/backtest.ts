import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Bar,
  type Concern,
  createSimulation,
  DegradedSchema,
  MarketSchema,
  money,
  readBars,
  readMarket,
  STRATEGY_KINDS,
  syntheticBar,
} from '@hermes-fleet/market';
import { median } from '../frame/quantile.ts';
import { alternate, ratios, warmUp } from '../frame/rounds.ts';
import type { Figure, Section } from '../frame/section.ts';
import { format } from '../frame/table.ts';

const BARS = 30_000;
/** The number of bars that the target is about. */
const MANY = 300_000;
const FILE = 'rows of a CSV file, read and checked';
const IDLE = 'bars without a strategy';
const KINDS = Object.keys(STRATEGY_KINDS);

/** Bars per second of a backtest, by strategy; target: a file of 300,000 bars in less than 20 s. */
export const backtestSection: Section = {
  name: 'backtest',
  about: 'bars per second of a backtest, by strategy, beside the engine without one',
  isDefault: true,
  async run({ dir, rounds }) {
    const bars = barsOfBench();
    const file = join(dir, 'bars.csv');
    writeFileSync(file, csvOf(bars));
    const contenders = [
      [FILE, () => rateOf(() => void readBars(file))] as const,
      [IDLE, () => rateOf(() => simulate(bars, undefined))] as const,
      ...KINDS.map((kind) => [kind, () => rateOf(() => simulate(bars, kind))] as const),
    ];
    await warmUp(contenders);
    const of = await alternate(rounds, contenders);
    const secondsOf = (name: string): number[] =>
      of(name).map((rate, round) => MANY / rate + MANY / (of(FILE)[round] ?? Number.NaN));
    const names = contenders.map(([name]) => name);
    const rows = names.map((name) => [
      name,
      format(median(of(name))),
      format(median(ratios(of(name), of(IDLE)))),
      name === FILE ? '' : format(median(secondsOf(name))),
    ]);
    const slowest = Array.from({ length: rounds }, (_, round) =>
      Math.max(...KINDS.map((kind) => secondsOf(kind)[round] ?? Number.NaN)),
    );
    const title =
      'Backtest: bars per second, in this process; target: a file of 300,000 bars in less than 20 s';
    return {
      tables: [{ title, head: ['', 'per second', 'ratio', '300,000 bars from a file, in s'], rows }],
      figures: [
        ...KINDS.map(
          (kind): Figure => ({
            key: `backtest.${kind}_to_idle`,
            unit: 'ratio',
            better: 'higher',
            values: ratios(of(kind), of(IDLE)),
          }),
        ),
        { key: 'backtest.seconds', unit: 's', better: 'lower', values: slowest },
      ],
    };
  },
};

function barsOfBench(): readonly Bar[] {
  const walk = { seed: 1, startPrice: money('2'), volatilityBps: money('20'), intervalMs: 60_000 };
  const bars: Bar[] = [];
  for (let n = 1; n <= BARS; n += 1)
    bars.push(syntheticBar(walk, n * walk.intervalMs, bars.at(-1)?.close ?? walk.startPrice));
  return bars;
}

function csvOf(bars: readonly Bar[]): string {
  const rows = bars.map(({ at, open, high, low, close, volume }) =>
    [new Date(at).toISOString(), ...[open, high, low, close, volume].map((each) => each.toFixed())].join(),
  );
  return `time,open,high,low,close,volume\n${rows.join('\n')}\n`;
}

/** Bars per second of a piece of work over all of them. */
function rateOf(work: () => void): number {
  const startedAt = performance.now();
  work();
  return (BARS * 1_000) / (performance.now() - startedAt);
}

const OF = { accountId: 'bench', marketSymbol: 'paper' };

function simulate(bars: readonly Bar[], kind: string | undefined): void {
  const market = readMarket(
    MarketSchema.parse({
      balances: { quote: '10000' },
      limits: { max_order: '1000', max_position: '4000', min_order: '1' },
    }),
  );
  const id = 'bench:paper';
  const simulation = createSimulation({ concernId: id, market, degraded: DegradedSchema.parse({}) });
  const strategy = kind && ({ ...OF, id: kind, name: kind, kind, params: {}, status: 'enabled' } as const);
  const activeStrategyId = kind ?? null;
  const concern: Concern = { ...OF, id, activeStrategyId, runState: 'running', riskMode: 'normal', rev: 1 };
  simulation.reconcile(concern, strategy || undefined);
  for (const bar of bars) simulation.bar(bar);
  simulation.finish();
}
