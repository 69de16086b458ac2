/** The pairs of letters that stand next to each other in a text. */
export function letterPairs(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (let at = 0; at < text.length - 1; at += 1) found.add(text.slice(at, at + 2));
  return found;
}

/** The pairs in common, as a share of all (https://en.wikipedia.org/wiki/Dice-S%C3%B8rensen_coefficient). */
export function sharedPairs(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (b.size === 0) return 0;
  let both = 0;
  for (const pair of a) if (b.has(pair)) both += 1;
  return (2 * both) / (a.size + b.size);
}
