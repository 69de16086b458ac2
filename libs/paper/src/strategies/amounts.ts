import type { Decimal } from 'decimal.js';
import { floorTo, money, smaller, ZERO } from '../market/money.ts';
import type { StrategyView } from '../market/strategy.ts';

const QUANTITY_STEP = money('0.00000001');
/** What a buy may cost of the free cash, so that fee and slippage fit beside it. */
const SPENDABLE = money('0.98');

/** A quotient as a quantity: eight places, rounded down. `price` must be above 0. */
export const quantityFor = (amount: Decimal, price: Decimal): Decimal =>
  amount.gt(ZERO) ? floorTo(amount.div(price), QUANTITY_STEP) : ZERO;

/** What may be spent on a buy of at most `amount`, in the quote asset. */
export const affordable = (amount: Decimal, freeCash: Decimal): Decimal =>
  smaller(amount, freeCash.times(SPENDABLE));

/** What the position is worth at the last close. */
export const exposure = ({ position, bars }: StrategyView): Decimal =>
  position.times(bars.at(-1)?.close ?? ZERO);
