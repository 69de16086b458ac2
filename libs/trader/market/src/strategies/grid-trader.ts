import type { Decimal } from 'decimal.js';
import { z } from 'zod';
import { decimalText } from '../terms/decimal-text.ts';
import { money, sum, ZERO } from '../terms/money.ts';
import type { Intent, OpenOrder, StrategyView, TradingStrategy } from '../terms/strategy.ts';
import { affordable, quantityFor } from './amounts.ts';
import { strategyKind } from './kind.ts';
import { createLadder, type Ladder } from './ladder.ts';

const Params = z
  .strictObject({
    centre: decimalText({ above: '0' })
      .optional()
      .describe('the price above the first level; default: the mean of the closes'),
    centre_bars: z.int().min(2).max(200).default(50).describe('the number of closes in that mean'),
    levels: z.int().min(1).max(20).default(5).describe('the largest number of buys, filled or not'),
    spacing_bps: z.int().min(1).max(2_000).default(50).describe('distance between levels'),
    order_share: decimalText({ above: '0', atMost: '1' })
      .default('0.05')
      .describe('the cost of one level, as a share of the equity'),
  })
  .refine(({ levels, order_share }) => money(order_share).times(levels).lte(1), {
    path: ['order_share'],
    error: 'times levels must not be above 1: the cash would not cover all levels',
  });

/** Share of a level below which no order is placed. */
const MIN_LEVEL_SHARE = money('0.1');
/** Share of a level up to which a quantity counts as one level: the equity may have changed since it was bought. */
const MAX_LEVEL_SHARE = money('1.1');
const ONE_AND_A_HALF = money('1.5');
const TWO = money('2');
const REMAINDER_TAG = 'sell:rest';
const sellTag = (level: number): string => `sell:${level}`;
const buyTag = (level: number): string => `buy:${level}`;

interface GridState {
  readonly view: StrategyView;
  readonly ladder: Ladder;
  readonly close: Decimal;
  /** Levels for buys, the highest first. */
  readonly band: readonly number[];
  /** Tags of the open orders. */
  readonly tags: ReadonlySet<string | undefined>;
  /** Cost of a level. */
  readonly levelCost: Decimal;
  size(level: number): Decimal;
}

type Order = Extract<Intent, { type: 'order' }>;

/**
 * Places buys on the levels below a center price, and for each filled buy a sale one level above it. When the sale is
 * filled, the buy is placed again. The tags of the open orders show which levels are filled, so the strategy needs no
 * memory. A position without a sale (a level just bought, or inherited from another strategy) gets sales from the first
 * free level above the price upwards.
 */
export const gridTrader = strategyKind(Params, (params): TradingStrategy => {
  const ladder = createLadder(params);
  const share = money(params.order_share);
  return {
    warmupBars: params.centre === undefined ? params.centre_bars : 1,
    onBar: (view) => {
      const close = view.bars.at(-1)?.close;
      if (close === undefined || !view.equity.gt(ZERO)) return [];
      const top = ladder.top(view.bars);
      const worth = view.equity.times(share);
      const scene: GridState = {
        view,
        ladder,
        close,
        levelCost: worth,
        band: Array.from({ length: params.levels }, (_, i) => top - i),
        tags: new Set(view.openOrders.map(({ tag }) => tag)),
        size: sizesOf(worth, ladder),
      };
      const sales = salesOf(scene);
      return [...sales, ...buysOf(scene, sales.filter(isOrder))];
    },
  };
});

/** The quantity of a level, computed once per bar: sales and buys ask for it many times. */
function sizesOf(worth: Decimal, ladder: Ladder): (level: number) => Decimal {
  const known = new Map<number, Decimal>();
  return (level) => {
    const before = known.get(level);
    if (before !== undefined) return before;
    const size = quantityFor(worth, ladder.price(level));
    known.set(level, size);
    return size;
  };
}

const isOrder = (intent: Intent): intent is Order => intent.type === 'order';
const cancel = ({ id }: OpenOrder): Intent => ({ type: 'cancel', orderId: id });
const totalOf = (orders: readonly OpenOrder[]): Decimal => sum(orders.map(({ quantity }) => quantity));
const ofSide = ({ openOrders }: StrategyView, side: OpenOrder['side']): OpenOrder[] =>
  openOrders.filter((order) => order.side === side);

const sale = (quantity: Decimal, limitPrice: Decimal, tag: string): Order => ({
  type: 'order',
  side: 'sell',
  kind: 'limit',
  purpose: 'exit',
  quantity,
  limitPrice,
  tag,
});

/** Sales for the position that no open sale covers: one per free level, and one for the remainder. */
function salesOf(scene: GridState): Intent[] {
  const { view, ladder, close, band, tags, size } = scene;
  const under = ladder.below(close);
  const isFree = (level: number): boolean => !tags.has(sellTag(level)) && !tags.has(buyTag(level));
  const orders: Order[] = [];
  let left = view.position.minus(totalOf(ofSide(view, 'sell')));
  if (left.lte(ZERO)) return orders;
  for (const level of band.filter((each) => each >= under && isFree(each)).reverse()) {
    if (left.lte(size(level).times(MIN_LEVEL_SHARE))) return orders;
    const quantity = left.lte(size(level).times(MAX_LEVEL_SHARE)) ? left : size(level);
    orders.push(sale(quantity, ladder.price(level + 1), sellTag(level)));
    left = left.minus(quantity);
  }
  const top = Math.max(band[0] ?? under, under);
  if (left.lte(size(top).times(MIN_LEVEL_SHARE))) return orders;
  const before = view.openOrders.filter(({ tag }) => tag === REMAINDER_TAG);
  return [
    ...before.map(cancel),
    ...orders,
    sale(left.plus(totalOf(before)), ladder.price(top + 1), REMAINDER_TAG),
  ];
}

/** Buys for the levels without a position, less the levels that sales cover; other buys are canceled. */
function buysOf(scene: GridState, newSales: readonly Order[]): Intent[] {
  const { view, ladder, close, band, tags, levelCost: worth, size } = scene;
  const replaced = newSales.some(({ tag }) => tag === REMAINDER_TAG);
  const sales = [
    ...newSales,
    ...ofSide(view, 'sell').filter(({ tag }) => !(replaced && tag === REMAINDER_TAG)),
  ];
  const sold = new Set(sales.map(({ tag }) => tag));
  const held = sales.length === 0 ? 0 : levelsIn(sales, size(band[0] ?? 0));
  const wanted = band.filter((level) => !sold.has(sellTag(level))).slice(0, Math.max(0, band.length - held));
  const kept = new Set<string | undefined>(wanted.map(buyTag));
  const canceled = ofSide(view, 'buy').filter(({ tag }) => !kept.has(tag));
  const orders: Order[] = [];
  let cash = view.freeCash;
  for (const level of wanted) {
    const limitPrice = ladder.price(level);
    if (tags.has(buyTag(level)) || limitPrice.gte(close)) continue;
    const quantity = size(level);
    if (!quantity.gt(ZERO) || affordable(worth, cash).lt(worth)) continue;
    cash = cash.minus(worth);
    const order = { quantity, limitPrice, tag: buyTag(level) };
    orders.push({ type: 'order', side: 'buy', kind: 'limit', purpose: 'entry', ...order });
  }
  return [...canceled.map(cancel), ...orders];
}

/** The number of levels that sales cover, each rounded half up and at least one. Most cover one, which needs no quotient. */
function levelsIn(sales: readonly { readonly quantity: Decimal }[], size: Decimal): number {
  const [twice, oneAndAHalf] = [size.times(TWO), size.times(ONE_AND_A_HALF)];
  return sales.reduce(
    (count, { quantity }) =>
      count +
      (twice.isZero() || quantity.lt(oneAndAHalf)
        ? 1
        : quantity.times(TWO).plus(size).divToInt(twice).toNumber()),
    0,
  );
}
