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
export function randomAt(seed: number, index: number): () => number {
  const key = mix(mix(mix(0x9e3779b9, seed), Math.floor(index / 2 ** 32)), index >>> 0);
  let draws = 0;
  return () => {
    draws += 1;
    return mix(key, Math.imul(draws, 0x9e3779b1)) >>> 16;
  };
}
