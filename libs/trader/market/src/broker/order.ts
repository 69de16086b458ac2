import type { Decimal } from 'decimal.js';
import type { OrderView } from '../terms/books.ts';
import { text } from '../terms/money.ts';

import type { OpenOrder } from '../terms/strategy.ts';

/** An order of the paper market. There are no partial fills. */
export interface Order extends OpenOrder {
  readonly strategyId: string;
  readonly state: OrderView['state'];
  /** Reserved while the order is open: quote for a buy and its fee, base for a sale. */
  readonly reserved: Decimal;
  /** Risk mode `cautious` halves an order once. */
  readonly isHalved: boolean;
  readonly fillPrice?: Decimal;
  readonly fee?: Decimal;
  /** Profit or loss of a filled sale, without fees. */
  readonly realized?: Decimal;
  readonly reason?: string;
  /** Times of bars, ms since the epoch. */
  readonly placedAt: number;
  readonly endedAt?: number;
  /** The revision of the concern under which it was placed. */
  readonly rev?: number | undefined;
}

const rfc3339 = (ms: number): string => new Date(ms).toISOString();

export function viewOf(order: Order): OrderView {
  const { id, strategyId, side, kind, purpose, state, limitPrice, fillPrice, fee, reason, endedAt } = order;
  return {
    id,
    strategyId,
    side,
    kind,
    purpose,
    quantity: text(order.quantity),
    ...(limitPrice === undefined ? {} : { limitPrice: text(limitPrice) }),
    state,
    ...(fillPrice === undefined ? {} : { fillPrice: text(fillPrice) }),
    ...(fee === undefined ? {} : { fee: text(fee) }),
    ...(reason === undefined ? {} : { reason }),
    placedAt: rfc3339(order.placedAt),
    ...(endedAt === undefined ? {} : { endedAt: rfc3339(endedAt) }),
  };
}

/** The order as its strategy sees it. */
export const openOrderOf = (order: Order): OpenOrder => {
  const { id, side, kind, purpose, quantity, limitPrice, tag } = order;
  return { id, side, kind, purpose, quantity, limitPrice, tag };
};
