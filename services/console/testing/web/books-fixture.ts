import type { BooksDocument } from '../../src/http/trader-books.ts';

import { MARKUP } from './tasks-fixture.ts';

const POINTS = 120;
const STEP_S = 300;
const GRID = '9cf29124-65a7-4950-ac18-65f938e0239b';
const TREND = '0c555fee-e4c8-4543-ae70-c132517017e1';

const FIGURES: BooksDocument['total'] = {
  bars: 17_280,
  opening_equity: '10000',
  equity: '10234.5678',
  return: 0.02345678,
  drawdown: 0.0123,
  max_drawdown: 0.0456,
  sharpe: 1.2345,
  sortino: 2.3456,
  exposure: 0.31,
  fills: 48,
  sales: 20,
  win_rate: 0.65,
  profit_factor: 1.8765,
  realized_profit: '312.3456789',
  fees: '41.2',
};

/** A concern with two strategies, four decisions and a fill every hour. */
export function booksDocument(now: number): BooksDocument {
  const at = (n: number): string => new Date(now - (POINTS - 1 - n) * STEP_S * 1_000).toISOString();
  const close = (n: number): number => 2 + Math.sin(n / 12) / 10;
  let peak = 0;
  const points = Array.from({ length: POINTS }, (_, n) => {
    const equity = 10_000 + 200 * Math.sin(n / 20) + n;
    peak = Math.max(peak, equity);
    const time = { recorded_at: at(n), at: at(n) };
    return {
      ...time,
      close: close(n).toFixed(4),
      equity: equity.toFixed(4),
      drawdown: (peak - equity) / peak,
    };
  });
  const marks = [90, 60, 30].map((n, k) => ({
    at: at(n),
    decision_id: `decision-${3 - k}`,
    action: ['pause', 'switch', 'set_risk_mode'][k] ?? '',
    caller: k === 1 ? MARKUP : 'operator',
  }));
  const idle = { win_rate: null, sharpe: null, sortino: null, profit_factor: null, fills: 0, sales: 0 };
  return {
    concern_id: 'paper-1/BTC-USD',
    measured_since: at(0),
    total: FIGURES,
    strategies: [
      { ...FIGURES, strategy_id: GRID, name: 'Grid around the mean' },
      { ...FIGURES, ...idle, strategy_id: TREND, name: MARKUP },
      { ...FIGURES, ...idle, strategy_id: null, name: null },
    ],
    decisions: [
      ...marks.map((mark) => ({ ...FIGURES, ...mark, strategy_id: TREND, name: MARKUP })),
      {
        ...FIGURES,
        decision_id: 'forgotten',
        strategy_id: GRID,
        name: null,
        at: null,
        action: null,
        caller: null,
      },
      { ...FIGURES, decision_id: null, strategy_id: GRID, name: null, at: null, action: null, caller: null },
    ],
    points,
    fills: Array.from({ length: 10 }, (_, k) => {
      const n = 118 - k * 11;
      const side = k % 2 === 0 ? ('sell' as const) : ('buy' as const);
      return {
        entry: 1_000 - k,
        recorded_at: at(n),
        at: at(n),
        decision_id: null,
        strategy_id: k === 3 ? TREND : GRID,
        name: k === 3 ? MARKUP : 'Grid around the mean',
        side,
        quantity: '238.0952',
        price: close(n).toFixed(4),
        fee: '0.5012',
        realized_profit: side === 'sell' ? '4.1234' : null,
      };
    }),
    has_all_fills: true,
    marks,
  };
}
