/** A contender: its name, and one round of it. */
export type Contender<T> = readonly [name: string, round: () => Promise<T> | T];

/**
 * Runs every contender once in each round, one after the other. Each round begins with another contender, so that none
 * has the better place. Resolves with the results of each contender, round by round.
 */
export async function alternate<T>(
  rounds: number,
  contenders: readonly Contender<T>[],
): Promise<(name: string) => readonly T[]> {
  const results = new Map<string, T[]>(contenders.map(([name]) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (let at = 0; at < contenders.length; at += 1) {
      const [name, run] = contenders[(at + round) % contenders.length] ?? [];
      if (name === undefined || run === undefined) continue;
      results.get(name)?.push(await run());
    }
  }
  return (name) => {
    const found = results.get(name);
    if (!found) throw new Error(`no contender is called ${name}`);
    return found;
  };
}

/** Runs every contender once, and drops the results, so that code is compiled and files exist before the first round. */
export async function warmUp(contenders: readonly Contender<unknown>[]): Promise<void> {
  for (const [, run] of contenders) await run();
}

/** The ratio of two contenders in each round. */
export const ratios = (ours: readonly number[], theirs: readonly number[]): number[] =>
  ours.map((value, round) => value / (theirs[round] ?? Number.NaN));
