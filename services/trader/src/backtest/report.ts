import { money, type SimulationResult, STRATEGY_KINDS, writeFigures } from '@hermes-fleet/market';
import type { Answer, BacktestReport } from '@hermes-fleet/protocol/api';
import { type ControlResponseWire, encodeControlResponse } from '@hermes-fleet/protocol/control';
import { z } from 'zod';
import type { Bars } from './bars.ts';
import type { Replayed } from './replay.ts';
import type { Scenario } from './scenario.ts';

const Params = z.record(z.string(), z.json());

/** The report of a backtest (docs/trader.md#backtest-it). It depends on the request alone. */
export function reportOf(
  scenario: Scenario,
  bars: Bars,
  runs: readonly Replayed[],
): Answer<typeof BacktestReport> {
  return {
    concern_id: scenario.concern.id,
    source: bars.source,
    market: Params.parse(scenario.marketWire),
    runs: runs.map(runOf),
  };
}

function runOf({ strategy, result, concern, answers, firstOpen }: Replayed) {
  const { id, name, kind, params } = strategy;
  const { figures, view, errors, firstError } = result;
  const { placed, filled, canceled, rejected, open } = result.orders;
  return {
    strategy: { id, name, kind, params: Params.parse(STRATEGY_KINDS[kind]?.params.parse(params) ?? params) },
    ...writeFigures(figures),
    price_change: priceChange(firstOpen, view.lastBar?.close),
    orders: { placed, filled, canceled, rejected, open },
    position: view.position.quantity,
    unrealized_profit: view.position.unrealizedPnl,
    average_slippage_bps: view.execution.averageSlippageBps,
    strategy_errors: { bars: errors, first: firstError ?? null },
    end: {
      active_strategy_id: concern.activeStrategyId,
      run_state: concern.runState,
      risk_mode: concern.riskMode,
    },
    decisions: answers.map(({ line, afterBars, response }) => ({
      line,
      bar: afterBars,
      // As it encodes.
      response: encodeControlResponse(response) as object as Answer<typeof ControlResponseWire>,
    })),
    equity_curve: curveOf(result),
  };
}

const curveOf = ({ curve }: SimulationResult) =>
  curve.map(({ at, equity, close }) => ({
    at: new Date(at).toISOString(),
    equity: equity.toFixed(),
    close: close.toFixed(),
  }));

/** What holding from the first open to the last close would have changed, without fees. */
const priceChange = (open: string, close: string | undefined): number | null =>
  close === undefined || money(open).isZero()
    ? null
    : Number(money(close).div(money(open)).minus(1).toNumber().toPrecision(8));
