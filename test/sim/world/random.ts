/** A seeded source of random numbers. The same seed and name give the same numbers on every machine. */
export interface Random {
  /** From 0 to below 1. */
  next(): number;
  /** A whole number from 0 to below `bound`. */
  below(bound: number): number;
  /** Exponentially distributed with this mean. */
  exponential(mean: number): number;
  /** Lognormally distributed with this mean; `sigma` is the spread of its logarithm. */
  lognormal(mean: number, sigma: number): number;
}

/**
 * Creates the stream of a name. Streams of different names are independent, so that one task or fault fewer leaves all
 * others as they are. The generator is mulberry32, seeded with FNV-1a of the name.
 */
export function randomOf(seed: number, name: string): Random {
  let state = seed >>> 0;
  for (let i = 0; i < name.length; i += 1) state = Math.imul(state ^ name.charCodeAt(i), 0x01000193) >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  // The first number follows the name too closely.
  next();
  const gauss = (): number => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  return {
    next,
    below: (bound) => Math.floor(next() * bound),
    exponential: (mean) => -mean * Math.log(1 - next()),
    lognormal: (mean, sigma) => mean * Math.exp(sigma * gauss() - (sigma * sigma) / 2),
  };
}
