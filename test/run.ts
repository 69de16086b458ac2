import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { planBatches } from './support/runner/batches.ts';
import { changedFiles, selectChanged } from './support/runner/changed.ts';
import { overLimits, scaleOf } from './support/runner/cpu-limits.ts';
import { changedSinceRecord, countCommits, partDue, sixthOf } from './support/runner/due.ts';
import { reachGraph } from './support/runner/reach.ts';
import { measureReference } from './support/runner/reference.ts';
import { closingLines } from './support/runner/report.ts';
import { runAgain } from './support/runner/run-again.ts';
import { runFiles } from './support/runner/run-batch.ts';
import type { FileResult } from './support/runner/run-file.ts';
import { type Job, planJobs, runJobs, slotsOf, withReferences } from './support/runner/schedule.ts';
import { cleanCommit, readRecord, renewRecord, writeRecord } from './support/runner/suite-record.ts';
import { FOLDERS, findTestFiles, tierOf } from './support/runner/test-files.ts';

const USAGE = `node test/run.ts [options] [folder or file ...]

Runs test files, and closes with the dearest ones, every failed test, and one line that counts. Without a folder or file it
runs the fast files of the repository, as make test does.

  --tier fast|slow|all   only these files; all where a folder or file is given
  --changed              only the unit tests that the changes since the main branch concern
  --due                  only files that test/suite.json does not vouch for: they have not passed on its commit, or they
                         reach what changed since
  --sixth                with --due: a sixth of the others too, another one at each commit
  --again                runs files that fail once more when no other test runs
  --until SECONDS        begins no file after that moment, in seconds since 1970, and names those that did not run
  --record               writes to test/suite.json which files passed, on which commit, and what each cost`;

const ROOT = resolve(import.meta.dirname, '..');

// Test processes and what they start share what Node makes of the TypeScript.
process.env.NODE_COMPILE_CACHE ??= join(ROOT, '.cache/node');
// The runner adds a few listeners for each file that runs.
process.setMaxListeners(100);

const { values, positionals } = readOptions();
const isOver = (): boolean => Date.now() / 1_000 > Number(values.until);
const existing = findTestFiles(ROOT, FOLDERS);
const record = readRecord(ROOT);
const commit = values.record ? cleanCommit(ROOT) : undefined;
const { groups, leftOut } = chooseFiles();
if (groups.flat().length === 0 && !values.due) {
  console.error(`no test file below ${positionals.join(', ')}`);
  process.exit(2);
}

const results: FileResult[] = [];
const references: number[] = [];
async function runAndPrint({ files }: Job): Promise<void> {
  if (files.length === 0) {
    references.push(await measureReference());
    return;
  }
  const { output, results: ofJob } = await runFiles(ROOT, files);
  results.push(...ofJob);
  console.log(output);
}

const planned = groups.map((files) => planJobs(planBatches(ROOT, files, record.files), record.files));
const shared = withReferences(planned.flatMap((jobs) => jobs.shared));
const alone = planned.flatMap((jobs) => jobs.alone);
const left = [
  ...(await runJobs(shared, slotsOf(availableParallelism()), runAndPrint, isOver)),
  ...(await runJobs(alone, 1, runAndPrint, isOver)),
];
const notRun = left.flatMap(({ files }) => files);
const { results: counted, lines: again } = values.again
  ? await runAgain(ROOT, results, console.log, isOver)
  : { results, lines: [] };
const scale = scaleOf(references);
const over = overLimits(counted, scale);
if (again.length > 0) console.log(['files that failed and ran again alone:', ...again].join('\n'));
if (values.record) {
  if (commit === undefined) console.log('test/suite.json was not written: the tree has uncommitted changes');
  else writeRecord(ROOT, renewRecord(record, { commit, scale, results: counted, notRun, existing }));
}
console.log(`reference work: ${scale.toFixed(2)} times what it costs on an ordinary machine`);
for (const line of closingLines(counted, { notRun, leftOut, overLimits: over })) console.log(line);
const failed = over.length > 0 || counted.some((result) => result.failed > 0);
const ranNothing = groups.flat().length > 0 && counted.every(({ passed }) => passed === 0);
process.exitCode = failed || ranNothing ? 1 : 0;

function readOptions() {
  try {
    const options = parseArgs({
      allowPositionals: true,
      options: {
        tier: { type: 'string' },
        changed: { type: 'boolean', default: false },
        due: { type: 'boolean', default: false },
        sixth: { type: 'boolean', default: false },
        again: { type: 'boolean', default: false },
        until: { type: 'string', default: 'Infinity' },
        record: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    const { tier, until, help, record, sixth, due } = options.values;
    if (help) {
      console.log(USAGE);
      process.exit(0);
    }
    if (!['fast', 'slow', 'all', undefined].includes(tier))
      throw new Error(`--tier ${tier}: must be fast, slow or all`);
    if (Number.isNaN(Number(until))) throw new Error(`--until ${until}: must be seconds since 1970`);
    if (sixth && !due) throw new Error('--sixth goes with --due');
    if (record && (tier !== 'all' || sixth || options.positionals.length > 0))
      throw new Error('--record goes with --tier all, and with no folder or file: it vouches for all files');
    return options;
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    process.exit(2);
  }
}

/** The files that run, in groups one after the other, and those that this run leaves out. */
function chooseFiles(): {
  groups: string[][];
  leftOut?: { files: readonly string[]; why: string };
} {
  const tier = values.tier ?? (positionals.length > 0 ? 'all' : 'fast');
  const found = positionals.length > 0 ? findTestFiles(ROOT, positionals) : existing;
  const files = found.filter((file) => tier === 'all' || tierOf(file) === tier);
  if (values.changed) return { groups: [selectChanged(ROOT, files, changedFiles(ROOT))] };
  if (!values.due) return { groups: [files] };
  const changed = changedSinceRecord(ROOT, record);
  if (changed === undefined)
    console.log(`this clone does not have the commit of test/suite.json: every file counts as changed`);
  const { due, others } = partDue(files, record, changed, reachGraph(ROOT).reaches);
  const sixth = values.sixth ? sixthOf(others, countCommits(ROOT)) : [];
  console.log(`${due.length} files are due, ${sixth.length} of the other ${others.length} run too`);
  return {
    groups: [[...due], sixth],
    leftOut: {
      files: others.filter((file) => !sixth.includes(file)),
      why: 'left out, because nothing that they reach has changed since test/suite.json was written:',
    },
  };
}
