import type { Decimal } from 'decimal.js';
import { money, smaller, ZERO } from '../terms/money.ts';
import type { StrategyView } from '../terms/strategy.ts';

const QUANTITY_STEP = money('0.00000001');
/** Share of the free cash that a buy may cost. The rest pays for fee and slippage. */
const SPENDABLE = money('0.98');

/** The quantity that an amount buys, rounded down to eight places. `price` must be above 0. */
export const quantityFor = (amount: Decimal, price: Decimal): Decimal =>
  // Dividing whole steps needs no quotient of 80 digits, which is slow.
  amount.gt(ZERO) ? amount.divToInt(price.times(QUANTITY_STEP)).times(QUANTITY_STEP) : ZERO;

/** The affordable part of `amount`, in the quote asset. */
export const affordable = (amount: Decimal, freeCash: Decimal): Decimal =>
  smaller(amount, freeCash.times(SPENDABLE));

/** The value of the position at the last close, in the quote asset. */
export const exposure = ({ position, bars }: StrategyView): Decimal =>
  position.times(bars.at(-1)?.close ?? ZERO);
