import type { Market } from '../terms/market.ts';
import { ZERO } from '../terms/money.ts';
import { type OrderIntent, onQuantityStep } from './risk-gate.ts';
import type { EngineState } from './state.ts';

/** The tag of the sale of a whole position. */
export const FLATTEN = 'flatten';

/** True if risk mode `halted` sells the position of this market. */
export const isFlattening = ({ configured }: EngineState, { halted }: Market): boolean =>
  configured.riskMode === 'halted' && halted === 'flatten';

/** The sale of the whole position at the next open; undefined if there is nothing to sell, or if it is on its way. */
export function saleOfAll(state: EngineState, market: Market): OrderIntent | undefined {
  const quantity = onQuantityStep(state.account.position, market);
  if (!quantity.gt(ZERO) || state.open.some(({ side }) => side === 'sell')) return undefined;
  return { type: 'order', side: 'sell', kind: 'market', purpose: 'exit', quantity, tag: FLATTEN };
}
