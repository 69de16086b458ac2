import type { Decimal } from 'decimal.js';
import { money, ZERO } from '../terms/money.ts';
import type { Bar, Intent, OpenOrder } from '../terms/strategy.ts';
import type { OrderIntent } from './risk-gate.ts';

/** Most intents after one bar; more count as an error of the strategy. */
export const MAX_INTENTS = 200;

const MOST = money('1e15');
const MOST_PLACES = 30;
const MAX_TAG_CHARS = 100;
const LAST_DATE_MS = 8.64e15;

const isWithin = (value: Decimal): boolean => value.isFinite() && value.gt(ZERO) && value.lt(MOST);

const isBetween = (value: Decimal, low: Decimal, high: Decimal): boolean => value.gte(low) && value.lte(high);

/**
 * Validates a strategy's intents and converts them to the engine's decimals; `own` are its open orders. Throws if any
 * intent is invalid, and then none is applied.
 */
export function readIntents(intents: readonly Intent[], own: readonly OpenOrder[]): readonly Intent[] {
  if (intents.length > MAX_INTENTS)
    throw new Error(
      `the strategy has ${intents.length} intents after one bar; at most ${MAX_INTENTS} are allowed`,
    );
  return intents.map((intent) => {
    if (intent.type === 'order') return readOrder(intent);
    if (own.some(({ id }) => id === intent.orderId)) return intent;
    throw new Error(`the strategy cancels order ${intent.orderId}, which is not one of its open orders`);
  });
}

function readOrder(intent: OrderIntent): OrderIntent {
  const { side, kind, purpose, quantity, limitPrice, tag } = intent;
  const wrong = (what: string): Error => new Error(`the strategy wants a ${side} ${kind} order ${what}`);
  if (!isWithin(quantity)) throw wrong(`of ${quantity}: not a valid quantity`);
  if ((limitPrice !== undefined) !== (kind === 'limit'))
    throw wrong(limitPrice === undefined ? 'without a limit price' : 'with a limit price');
  if (limitPrice !== undefined && !isWithin(limitPrice)) throw wrong(`at ${limitPrice}: not a valid price`);
  if (tag !== undefined && tag.length > MAX_TAG_CHARS)
    throw wrong(`with a tag of ${tag.length} characters; at most ${MAX_TAG_CHARS}`);
  return {
    type: 'order',
    side,
    kind,
    purpose,
    quantity: money(quantity),
    ...(limitPrice === undefined ? {} : { limitPrice: money(limitPrice) }),
    ...(tag === undefined ? {} : { tag }),
  };
}

/** Validates a bar and converts it to the engine's decimals. Throws if it is invalid or not after `last`. */
export function readBar(bar: Bar, last: Bar | undefined): Bar {
  const { at, open, high, low, close, volume } = bar;
  const wrong = (what: string): Error => new Error(`the bar at ${at} ${what}`);
  if (!Number.isInteger(at) || at < 0 || at > LAST_DATE_MS) throw wrong('has an invalid time');
  if (last !== undefined && at <= last.at) throw wrong(`does not come after the one at ${last.at}`);
  const isSound =
    isWithin(low) && isWithin(high) && [open, close].every((price) => isBetween(price, low, high));
  const prices = [open, high, low, close];
  if (!prices.every((price) => (isSound || isWithin(price)) && price.decimalPlaces() <= MOST_PLACES))
    throw wrong('has an invalid price');
  if (!isSound) throw wrong('has a price outside its low and high');
  if (!volume.isFinite() || volume.lt(ZERO)) throw wrong('has an invalid volume');
  return {
    at,
    open: money(open),
    high: money(high),
    low: money(low),
    close: money(close),
    volume: money(volume),
  };
}
