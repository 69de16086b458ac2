import { type SimResult, type SimSettings, simulate } from './simulate.ts';

/** The most runs that one search makes. */
const MAX_RUNS = 200;

export interface Shrunk {
  /** The shortest failing run that was found. */
  readonly result: SimResult;
  readonly runs: number;
}

/**
 * Shortens a failing run: fewer tasks, then faults (by delta debugging), then workers, and again until nothing is left to
 * take away. Every candidate is a run of its own, and counts only if it violates the same invariant.
 */
export async function shrink(
  failing: SimResult,
  run: (settings: SimSettings) => Promise<SimResult> = simulate,
): Promise<Shrunk> {
  const invariant = failing.violation?.invariant;
  let best = failing;
  let runs = 0;

  async function fails(change: Partial<SimSettings>): Promise<boolean> {
    if (runs >= MAX_RUNS) return false;
    runs += 1;
    const result = await run({ ...best.settings, ...change });
    if (result.violation?.invariant !== invariant) return false;
    best = result;
    return true;
  }

  /** Makes a number smaller: in halves first, then in ever smaller steps. */
  async function reduce(key: 'tasks' | 'workers'): Promise<void> {
    for (let step = Math.ceil(best.settings[key] / 2); step >= 1; step = Math.floor(step / 2))
      while (best.settings[key] - step >= 1 && (await fails({ [key]: best.settings[key] - step })));
  }

  /** Drops chunks of faults, smaller ones as long as no chunk can be dropped. */
  async function dropFaults(): Promise<void> {
    if (best.faults.length === 0 || (await fails({ only: [] }))) return;
    let kept = best.faults.map(({ index }) => index);
    for (let chunk = Math.ceil(kept.length / 2); chunk >= 1; ) {
      let hasDropped = false;
      for (let from = 0; from < kept.length; ) {
        const rest = kept.toSpliced(from, chunk);
        if (await fails({ only: rest })) {
          kept = rest;
          hasDropped = true;
        } else from += chunk;
      }
      if (!hasDropped) chunk = chunk === 1 ? 0 : Math.ceil(chunk / 2);
    }
  }

  const size = (): number => best.settings.tasks + best.settings.workers + best.faults.length;
  for (let before = Number.POSITIVE_INFINITY; size() < before && runs < MAX_RUNS; ) {
    before = size();
    await dropFaults();
    await reduce('tasks');
    await reduce('workers');
  }
  return { result: best, runs };
}
