import type { Clock } from '@hermes-fleet/protocol/ports';
import type { Decimal } from 'decimal.js';
import { greater, money, smaller } from '../terms/money.ts';
import type { Bar, Feed } from '../terms/strategy.ts';
import { floorToStep, wasSetBack } from './pace.ts';

export interface SyntheticOptions {
  readonly seed: number;
  readonly startPrice: Decimal;
  /** Standard deviation of the change from close to close, in basis points. */
  readonly volatilityBps: Decimal;
  readonly intervalMs: number;
}

const SCALE = money('65536');
const WHOLE = money('10000');
const ONE = money('1');
const HALF = money('0.5');
/** Significant digits of a price. A price rounded this way never becomes 0. */
const DIGITS = 8;

/**
 * A reproducible random walk. Each close is the previous close times a factor that depends on the seed and the bar's
 * time, at multiples of the interval. Intervals in which no bar was requested get none: after a pause, the walk continues
 * from the last close with the current bar. So it does when the clock was set back.
 */
export function createSyntheticFeed(options: SyntheticOptions, clock: Clock): Feed {
  return {
    intervalMs: options.intervalMs,
    next: async (last, signal) => {
      signal.throwIfAborted();
      const { intervalMs } = options;
      let at = dueAt(last, clock.now(), intervalMs);
      for (let left = at - clock.now(); left > 0; left = at - clock.now()) {
        await clock.sleep(Math.min(left, intervalMs), signal);
        at = dueAt(last, clock.now(), intervalMs);
      }
      return syntheticBar(options, at, last?.close ?? options.startPrice);
    },
  };
}

/** The time of the bar after `last`. A clock that was set back begins anew: the bars before have times that never were. */
function dueAt(last: Bar | undefined, now: number, intervalMs: number): number {
  const latest = floorToStep(now, intervalMs);
  if (last === undefined || wasSetBack(last, now, intervalMs)) return latest;
  return Math.max(latest, floorToStep(last.at, intervalMs) + intervalMs);
}

/** The bar that opens at the price `open` and closes at the time `at`, a multiple of the interval. */
export function syntheticBar(options: SyntheticOptions, at: number, open: Decimal): Bar {
  const random = randomAt(options.seed, at / options.intervalMs);
  const deviation = options.volatilityBps.div(WHOLE);
  // The sum of twelve uniform draws is nearly normal, with a standard deviation of one.
  const step = money(String(evenSum(random, 12) - 6 * 65_536))
    .div(SCALE)
    .times(deviation);
  const wick = (): Decimal => ONE.plus(money(String(random())).div(SCALE).times(deviation).times(HALF));
  const close = step.isNegative() ? rounded(open.div(ONE.minus(step))) : rounded(open.times(ONE.plus(step)));
  return {
    at,
    open,
    high: greater(greater(open, close), rounded(greater(open, close).times(wick()))),
    low: smaller(smaller(open, close), rounded(smaller(open, close).div(wick()))),
    close,
    volume: money(String(1 + random())),
  };
}

function evenSum(random: () => number, draws: number): number {
  let total = 0;
  for (let i = 0; i < draws; i += 1) total += random();
  return total;
}

const rounded = (price: Decimal): Decimal => money(price.toSignificantDigits(DIGITS));

const MULTIPLIERS = [0x7feb352d, 0x846ca68b] as const;

/** Hashes a word into a 32-bit state. Each input bit affects each bit of the result. */
function mix(state: number, word: number): number {
  let bits = (state ^ word) >>> 0;
  bits = Math.imul(bits ^ (bits >>> 16), MULTIPLIERS[0]);
  bits = Math.imul(bits ^ (bits >>> 15), MULTIPLIERS[1]);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/**
 * A counter-based pseudorandom generator of integers from 0 to 65,535. The nth number depends on `seed` and `index`
 * alone, so it is the same in every process. Not cryptographically secure.
 */
function randomAt(seed: number, index: number): () => number {
  const key = mix(mix(mix(0x9e3779b9, seed), Math.floor(index / 2 ** 32)), index >>> 0);
  let draws = 0;
  return () => {
    draws += 1;
    return mix(key, Math.imul(draws, 0x9e3779b1)) >>> 16;
  };
}
