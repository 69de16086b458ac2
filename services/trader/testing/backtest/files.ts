import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Bar, money, syntheticBar } from '@hermes-fleet/market';
import type { JsonObject } from '@hermes-fleet/protocol';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { type BacktestRequest, readRequest } from '../../src/backtest/request.ts';
import { GRID, SHIELD, TREND } from '../store/harness.ts';

const OF = 'account_id: qndd8o9ppop6\n      market_symbol: xrpusd';

/** A trader.yaml with one concern, whose strategies act within a few bars. */
const YAML = `trader:
  callers:
    operator: { accounts: ["*"] }
  concerns:
    - ${OF}
      active_strategy_id: ${GRID}
      balances: { quote: "10000", base: "100" }
      limits: { max_order: "3000", max_position: "9000", max_open_orders: 8, min_order: "1" }
      feed: { kind: csv, file: bars.csv, interval_s: 1 }
  strategies:
    - id: ${GRID}
      name: grid
      kind: grid_trader
      ${OF.replace('\n    ', '\n    ')}
      params: { levels: 4, spacing_bps: 60, order_share: "0.1", centre_bars: 5 }
    - id: ${TREND}
      name: trend
      kind: trend_follower
      ${OF}
      params: { fast_bars: 3, slow_bars: 7, atr_bars: 3, profit_atr: "3" }
    - id: ${SHIELD}
      name: shield
      kind: exposure_protector
      ${OF}
      params: { target_share: "0.3", tolerance: "0.02" }
`;

export interface BacktestFiles {
  readonly dir: string;
  readonly config: string;
  readonly bars: readonly Bar[];
  /** Writes a script of decisions and returns its path. */
  script(...lines: readonly (string | JsonObject)[]): string;
  /** A request about the concern of the files. */
  request(o?: JsonObject): BacktestRequest;
}

/** A folder with a trader.yaml and the bars of its feed: minutes of a random walk. */
export function backtestFiles(t: TestContext, count = 300): BacktestFiles {
  const dir = tempDir(t, { prefix: 'backtest-' });
  const config = join(dir, 'trader.yaml');
  writeFileSync(config, YAML);
  const options = { seed: 11, startPrice: money('2'), volatilityBps: money('60'), intervalMs: 60_000 };
  const bars: Bar[] = [];
  for (let n = 1; n <= count; n += 1) {
    const at = Date.parse('2026-04-16T20:00:00Z') + n * options.intervalMs;
    bars.push(syntheticBar(options, at, bars.at(-1)?.close ?? options.startPrice));
  }
  const rows = bars.map(({ at, open, high, low, close, volume }) =>
    [new Date(at).toISOString(), ...[open, high, low, close, volume].map((each) => each.toFixed())].join(),
  );
  writeFileSync(join(dir, 'bars.csv'), `time,open,high,low,close,volume\n${rows.join('\n')}\n`);
  return {
    dir,
    config,
    bars,
    script: (...lines) => {
      const file = join(dir, 'script.jsonl');
      const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)));
      writeFileSync(file, text.join('\n'));
      return file;
    },
    request: (o = {}) =>
      readRequest(
        JSON.stringify({ config, concern: 'qndd8o9ppop6:xrpusd', strategies: [], compare: false, ...o }),
      ),
  };
}
