import { availableParallelism, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { planBatches } from './support/runner/batches.ts';
import { chooseFiles } from './support/runner/choose-files.ts';
import { overLimits, scaleOf } from './support/runner/cpu-limits.ts';
import { type RunnerOptions, readOptions, USAGE } from './support/runner/options.ts';
import { reachGraph } from './support/runner/reach.ts';
import { measureReference } from './support/runner/reference.ts';
import { closingLines } from './support/runner/report.ts';
import { runAgain } from './support/runner/run-again.ts';
import { runFiles } from './support/runner/run-batch.ts';
import type { FileResult } from './support/runner/run-file.ts';
import { type Job, planJobs, runJobs, slotsOf, withReferences } from './support/runner/schedule.ts';
import { cleanCommit, RECORD, readRecord, renewRecord, writeRecord } from './support/runner/suite-record.ts';
import { FOLDERS, findTestFiles } from './support/runner/test-files.ts';

/** Runs test files: `node test/run.ts --help` says which. */
const ROOT = resolve(import.meta.dirname, '..');
/** After the time is over, files that were begun before have this long to end, and files that failed to run once more. */
const GRACE_S = 300;

// Test processes and what they start share what Node makes of the TypeScript.
process.env.NODE_COMPILE_CACHE ??= join(ROOT, '.cache/node');
// A make that a test starts is not a part of the make that runs the tests, which would have it print its folders.
for (const name of ['MAKEFLAGS', 'MFLAGS', 'MAKELEVEL']) delete process.env[name];
// The runner adds a few listeners for each file that runs.
process.setMaxListeners(100);

const options = optionsOrExit();
const nowS = (): number => Date.now() / 1_000;
const isOver = (): boolean => nowS() > options.until;
const leftMs = (): number => (options.until + GRACE_S - nowS()) * 1_000;
const existing = findTestFiles(ROOT, FOLDERS);
const record = readRecord(ROOT);
const commit = options.record ? cleanCommit(ROOT) : undefined;
const { groups, leftOut, lines } = chooseFiles({
  root: ROOT,
  options,
  existing,
  record,
  graph: (changed) => reachGraph(ROOT, changed),
});
for (const line of lines) console.log(line);
if (groups.flat().length === 0 && !options.due && !options.changed) {
  console.error(`no ${options.tier} test file below ${options.paths.join(', ')}`);
  process.exit(2);
}

const results: FileResult[] = [];
const references: number[] = [];
async function runAndPrint({ files }: Job): Promise<void> {
  if (files.length === 0) {
    references.push(await measureReference());
    return;
  }
  const { output, results: ofJob } = await runFiles(ROOT, files, leftMs());
  results.push(...ofJob);
  console.log(output);
}

const planned = groups.map((files) => planJobs(planBatches(ROOT, files, record.files), record.files));
const shared = withReferences(planned.flatMap((jobs) => jobs.shared));
const alone = planned.flatMap((jobs) => jobs.alone);
const left = [
  ...(await runJobs(shared, slotsOf(availableParallelism(), totalmem()), runAndPrint, isOver)),
  ...(await runJobs(alone, 1, runAndPrint, isOver)),
];
const notRun = left.flatMap(({ files }) => files);
const { results: counted, lines: again } = options.again
  ? await runAgain(ROOT, results, console.log, leftMs)
  : { results, lines: [] };
const scale = scaleOf(references);
const over = overLimits(counted, scale);
if (again.length > 0) console.log(['files that failed and ran again alone:', ...again].join('\n'));
if (options.record) {
  if (commit === undefined || cleanCommit(ROOT) !== commit)
    console.log(
      `${RECORD} was not written: the tree had changes that are not committed, or another commit came`,
    );
  else writeRecord(ROOT, renewRecord(record, { commit, scale, results: counted, notRun, existing }));
}
console.log(`reference work: ${scale.toFixed(2)} times what it costs on an ordinary machine`);
for (const line of closingLines(counted, { notRun, leftOut, overLimits: over })) console.log(line);
const nothing = counted.length > 0 && counted.every(({ passed, skipped }) => passed + skipped === 0);
if (nothing) console.error('no test ran');
// A process that a test left behind may hold a pipe of this one, which would wait for it.
process.exit(nothing || over.length > 0 || counted.some(({ failed }) => failed > 0) ? 1 : 0);

function optionsOrExit(): RunnerOptions {
  try {
    const read = readOptions(process.argv.slice(2));
    if (!read.help) return read;
    console.log(USAGE);
    process.exit(0);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    process.exit(2);
  }
}
