/** The candidate that `word` probably misspells or abbreviates (`port`: `bind_port`); undefined without one. */
export function didYouMean(word: string, candidates: readonly string[]): string | undefined {
  if (word.length < 3) return undefined;
  const limit = Math.floor(word.length / 3);
  let best: { readonly candidate: string; readonly distance: number } | undefined;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) > limit) continue;
    const distance = editDistance(normal(word), normal(candidate));
    if (distance <= limit && (best === undefined || distance < best.distance)) best = { candidate, distance };
  }
  if (best !== undefined) return best.candidate;
  return candidates.find((name) => normal(name).split('_').includes(normal(word)));
}

const normal = (word: string): string => word.toLowerCase().replaceAll('-', '_').slice(0, 100);

/** The optimal string alignment distance: insertions, deletions, substitutions and swaps of adjacent characters. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
