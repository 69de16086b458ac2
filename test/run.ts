import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { planBatches } from './support/runner/batches.ts';
import { changedFiles, selectChanged } from './support/runner/changed.ts';
import { KNOWN, MEASURED, readDurations, writeDurations } from './support/runner/durations.ts';
import { closingLines } from './support/runner/report.ts';
import { runAgain } from './support/runner/run-again.ts';
import { runFiles } from './support/runner/run-batch.ts';
import type { FileResult } from './support/runner/run-file.ts';
import { ALONE, type Job, planJobs, runJobs, slotsOf } from './support/runner/schedule.ts';
import { FOLDERS, findTestFiles } from './support/runner/test-files.ts';

/**
 * Runs every test of the repository and closes with its slowest files, every failed test, and one line that counts.
 * Folders or files given as arguments narrow it: `node test/run.ts libs/ledger test/fleet`. `--changed` narrows it to
 * the unit tests that a change concerns. `--again` runs files that fail once more when no other test runs. `--until`, in
 * seconds since 1970, begins no file after that moment, and reports those that did not run.
 */
const ROOT = resolve(import.meta.dirname, '..');

// Test processes and what they start share what Node makes of the TypeScript.
process.env.NODE_COMPILE_CACHE ??= join(ROOT, '.cache/node');
// The runner adds a few listeners for each file that runs.
process.setMaxListeners(100);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    changed: { type: 'boolean', default: false },
    again: { type: 'boolean', default: false },
    until: { type: 'string', default: 'Infinity' },
  },
});
const until = Number(values.until);
if (Number.isNaN(until)) throw new Error(`--until ${values.until}: must be seconds since 1970`);
const isOver = (): boolean => Date.now() / 1_000 > until;
const found = findTestFiles(ROOT, positionals.length > 0 ? positionals : FOLDERS);
const files = values.changed ? selectChanged(ROOT, found, changedFiles(ROOT)) : found;
if (files.length === 0) {
  console.error(`no test file below ${positionals.join(', ')}`);
  process.exit(2);
}

const results: FileResult[] = [];
async function runAndPrint({ files }: Job): Promise<void> {
  const { output, results: ofJob } = await runFiles(ROOT, files);
  results.push(...ofJob);
  console.log(output);
}

const slots = slotsOf(availableParallelism());
const seconds = { ...readDurations(KNOWN), ...readDurations(MEASURED) };
const { shared, alone } = planJobs(planBatches(ROOT, files, seconds), seconds);
if (shared.length > 0 && alone.length > 0)
  console.log(
    alone.flatMap(({ files }) => files.map((file) => `${file} runs alone: ${ALONE[file]}`)).join('\n'),
  );
const left = [
  ...(await runJobs(alone, 1, runAndPrint, isOver)),
  ...(await runJobs(shared, slots, runAndPrint, isOver)),
];
const notRun = left.flatMap(({ files }) => files);
const { results: counted, lines: again } = values.again
  ? await runAgain(ROOT, results, console.log, isOver)
  : { results, lines: [] };
const ran = Object.fromEntries(counted.map(({ file, seconds }) => [file, seconds]));
writeDurations(MEASURED, { ...readDurations(MEASURED), ...ran });
if (again.length > 0) console.log(['files that failed and ran again alone:', ...again].join('\n'));
for (const line of closingLines(counted, notRun)) console.log(line);
const failed = counted.some((result) => result.failed > 0);
process.exitCode = failed || counted.every(({ passed }) => passed === 0) ? 1 : 0;
