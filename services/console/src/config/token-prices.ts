import type { Counts } from '../projection/project-task.ts';
import type { ConsoleConfig } from './schema.ts';

/** What tokens cost (docs/console.md#money). */
export interface Prices {
  readonly currency: string | null;
  /** True where no model has a price. */
  readonly isEmpty: boolean;
  has(model: string): boolean;
  /** The price of tokens of a model; null without a price for it. */
  costOf(model: string, counts: Counts): number | null;
}

const PER_TOKENS = 1_000_000;

export function createPrices({ currency, models }: ConsoleConfig['prices']): Prices {
  const byModel = new Map(Object.entries(models));
  return {
    currency,
    isEmpty: byModel.size === 0,
    has: (model) => byModel.has(model),
    costOf(model, { input, output, cacheRead, cacheWrite }) {
      const price = byModel.get(model);
      if (price === undefined) return null;
      const sum =
        input * price.input +
        output * price.output +
        cacheRead * price.cache_read +
        cacheWrite * price.cache_write;
      return sum / PER_TOKENS;
    },
  };
}

/** The sum of costs; null if one of them is not known. */
export function sumOfCosts(costs: Iterable<number | null>): number | null {
  let sum = 0;
  for (const cost of costs) {
    if (cost === null) return null;
    sum += cost;
  }
  return sum;
}
