import { commandOf, HELP, readOptions, type SimOptions } from './options.ts';
import { reportOf, verdictOf } from './report.ts';
import { runScale } from './scale.ts';
import { shrink } from './shrink.ts';
import { type SimResult, simulate } from './simulate.ts';

// The simulation of whole fleets (docs/scale.md). It opens no connection and writes no file.

/** Wall time and memory, which differ from run to run, go to standard error. */
function printCost(result: SimResult, ms: number): void {
  const perTask = (ms / Math.max(1, result.counts.ended)).toFixed(2);
  const mib = (process.memoryUsage().rss / 2 ** 20).toFixed(0);
  console.error(`this run: ${(ms / 1000).toFixed(1)} s, ${perTask} ms a task, ${mib} MiB`);
}

async function runSeeds({ seeds, settings, shrink: shortens }: SimOptions): Promise<boolean> {
  for (let i = 0; i < seeds; i += 1) {
    const startedAt = performance.now();
    const result = await simulate({ ...settings, seed: settings.seed + i });
    console.log(seeds === 1 || result.violation ? reportOf(result) : verdictOf(result));
    if (seeds === 1) printCost(result, performance.now() - startedAt);
    if (!result.violation) continue;
    if (shortens) await printShortest(result);
    return false;
  }
  return true;
}

async function printShortest(failing: SimResult): Promise<void> {
  const replayed = await simulate(failing.settings);
  if (reportOf(replayed) !== reportOf(failing))
    throw new Error('the replay differs: the run is not deterministic');
  console.log('\nreplayed: the same. Shortening it ...');
  const { result, runs } = await shrink(replayed);
  console.log(
    `the shortest of ${runs} runs that fail alike:\n${reportOf(result)}\n\n${commandOf(result.settings)}`,
  );
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options.help) console.log(HELP);
  else if (options.scale) await runScale(console.log);
  else if (!(await runSeeds(options))) process.exitCode = 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
