import { type EngineState, endOrder, type OrderListener } from './state.ts';

/**
 * Begins the history of another feed, whose prices have nothing to do with those before: open orders are canceled, since
 * they rest at prices of the former feed. The account stays.
 */
export function beginHistory(before: EngineState, feed: string, onOrder: OrderListener): EngineState {
  const reason = `the feed changed to ${feed}`;
  let state = before;
  for (const order of before.open) {
    const endedAt = before.bars.at(-1)?.at ?? order.placedAt;
    state = endOrder(state, order, { state: 'canceled', endedAt, reason }, onOrder);
  }
  return { ...state, feed, bars: [], rejectsOfBars: [] };
}

/** Moves the history so that its last bar closed at `lastAt`: the clock that its times are from was set back. */
export function moveHistory(state: EngineState, lastAt: number): EngineState {
  const last = state.bars.at(-1);
  if (last === undefined) return state;
  const by = lastAt - last.at;
  return {
    ...state,
    bars: state.bars.map((bar) => ({ ...bar, at: Math.max(0, bar.at + by) })),
    open: state.open.map((order) => ({ ...order, placedAt: Math.min(order.placedAt, lastAt) })),
  };
}
