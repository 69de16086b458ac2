import { basename, dirname, resolve } from 'node:path';
import { type Bar, type FeedConfig, FeedSchema, money, readBars, syntheticBar } from '@hermes-fleet/market';
import { FleetError, fieldErrors } from '@hermes-fleet/protocol';
import type { Answer, BacktestReport } from '@hermes-fleet/protocol/api';
import { type BacktestRequest, wrongField } from './request.ts';

/** The bars of a backtest, which can be read any number of times. */
export interface Bars extends Iterable<Bar> {
  readonly count: number;
  /** The number of bars that have closed at a time. */
  closedAt(ms: number): number;
  /** Where they come from, for the report. */
  readonly source: Answer<typeof BacktestReport>['source'];
}

/** Synthetic bars begin at a fixed time, so that the same request gives the same report. */
const FIRST_OPEN = Date.parse('2026-01-01T00:00:00Z');
const SYNTHETIC = { kind: 'synthetic', seed: 1, start_price: '1', volatility_bps: 20, interval_s: 60 };

/** The bars that are asked for; `feed` is that of the concern. Throws INVALID_PARAMS and CONFIG_INVALID. */
export function openBars(request: BacktestRequest, feed: FeedConfig | undefined): Bars {
  const { csv, synthetic, config } = request;
  if (csv !== undefined) return csvBars(csv);
  if (synthetic !== undefined) return syntheticBars(synthetic, feed);
  if (feed === undefined)
    throw wrongField(
      'csv',
      'name a file of bars, or ask for synthetic ones: there is no concern with a feed',
    );
  return feed.kind === 'csv'
    ? csvBars(resolve(dirname(config), feed.file))
    : syntheticBars({ bars: 20_000 }, feed);
}

function csvBars(file: string): Bars {
  const bars = readBars(file);
  return {
    count: bars.count,
    closedAt: bars.closedAt,
    source: { kind: 'csv', file: basename(file) },
    [Symbol.iterator]: () => bars[Symbol.iterator](),
  };
}

function syntheticBars(
  { bars: count, ...asked }: NonNullable<BacktestRequest['synthetic']>,
  feed: FeedConfig | undefined,
): Bars {
  const base = feed?.kind === 'synthetic' ? feed : SYNTHETIC;
  const given = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
  const parsed = FeedSchema.safeParse({ ...base, ...given });
  if (!parsed.success || parsed.data.kind !== 'synthetic') {
    const fields = parsed.success
      ? []
      : fieldErrors(parsed.error).map(({ path, reason }) => ({ path: `synthetic.${path}`, reason }));
    throw new FleetError('INVALID_PARAMS', 'the synthetic bars cannot be made', { fields });
  }
  const { seed, start_price, volatility_bps, interval_s } = parsed.data;
  const intervalMs = Math.round(interval_s * 1000);
  const startPrice = money(start_price);
  const options = { seed, startPrice, volatilityBps: money(String(volatility_bps)), intervalMs };
  const first = Math.floor(FIRST_OPEN / intervalMs) + 1;
  return {
    count,
    closedAt: (ms) => Math.min(count, Math.max(0, Math.floor(ms / intervalMs) - first + 1)),
    source: { kind: 'synthetic', seed, start_price, volatility_bps, interval_s },
    *[Symbol.iterator]() {
      let price = startPrice;
      for (let n = 0; n < count; n += 1) {
        const bar = syntheticBar(options, (first + n) * intervalMs, price);
        price = bar.close;
        yield bar;
      }
    },
  };
}
