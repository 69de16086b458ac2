import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { planFleet } from '@hermes-fleet/cli';
import { freeOffset } from '../support/ports.ts';
import { startFleet, stopFleet } from './fleet/fleet.ts';
import { createFleetControl } from './fleet/fleet-control.ts';
import {
  type Baseline,
  type Change,
  compare,
  readBaseline,
  refuseMixture,
  toBaseline,
} from './frame/baseline.ts';
import { describeMachine, findCores, readMachine } from './frame/machine.ts';
import { type BenchOptions, HELP, readOptions } from './frame/options.ts';
import { jsonReport, type Report, writeMarkdown } from './frame/report.ts';
import type { BenchContext, Figure, SectionResult, Table } from './frame/section.ts';
import { textTable } from './frame/table.ts';
import { targetTable } from './frame/targets.ts';
import { type LoadProcess, startLoad } from './http/load.ts';
import { SECTIONS } from './sections/index.ts';

// The benchmarks (docs/performance.md). Listens on loopback only, removes its files, and ends after LIMIT_MS at the latest.

const LIMIT_MS = 20 * 60_000;
const BASELINE = join(import.meta.dirname, 'baseline.json');

const print = (table: Table): void => console.log(`\n${textTable(table)}`);

try {
  const options = readOptions(process.argv.slice(2), SECTIONS);
  if (options.help) {
    console.log(HELP);
    for (const { name, about, isDefault } of SECTIONS)
      console.log(`  ${name.padEnd(18)}${about}${isDefault ? '' : ' (only when named)'}`);
  } else {
    await bench(options);
  }
} catch (error) {
  console.error(`\nbench: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

async function bench(options: BenchOptions): Promise<void> {
  const startedAt = performance.now();
  const baseline = readBaseline(BASELINE);
  const sections = options.sections.map(({ name }) => name);
  await using opened = new AsyncDisposableStack();
  const context = await openContext(options, opened);
  const machine = readMachine(context.dir);
  const about = describeMachine(machine);
  if (options.writeBaseline) refuseMixture(sections, about, baseline);
  console.log(`Hermes Fleet benchmarks: ${about}, ${machine.kernel}`);
  console.log(`${machine.fsyncsPerSecond.toLocaleString('en')} durable writes of 4 KiB per second.`);
  console.log(
    `Medians of ${options.rounds} alternating rounds. Load of the machine before: ${machine.load.toFixed(1)}.`,
  );
  console.log(
    context.cores
      ? `Servers run on core ${context.cores.server}, their load on core ${context.cores.load}.`
      : 'Servers and load share all cores, because there is no second core or no taskset: ratios are less exact.',
  );
  if (baseline.machine !== about) console.log(`The baseline is from another machine: ${baseline.machine}.`);

  const results: SectionResult[] = [];
  for (const section of options.sections) {
    const result = await section.run(context);
    results.push(result);
    for (const table of result.tables) print(table);
  }
  const figures = results.flatMap((result) => result.figures);
  const targets = targetTable(figures);
  if (targets) print(targets);
  const changes = compare(figures, { sections, concurrency: options.concurrency }, baseline);
  printChanges(changes, figures, baseline);

  const report: Report = {
    machine,
    pinned: context.cores !== undefined,
    rounds: options.rounds,
    sections,
    tables: [...results.flatMap((result) => result.tables), ...(targets ? [targets] : [])],
    figures,
    changes: changes.map(({ text }) => text),
  };
  if (options.json !== undefined) writeFileSync(options.json, jsonReport(report));
  if (options.markdown !== undefined) writeMarkdown(options.markdown, report, about);
  if (options.writeBaseline) {
    const next = toBaseline(figures, sections, about, baseline);
    writeFileSync(BASELINE, `${JSON.stringify(next, null, 2)}\n`);
  }
  console.log(`\n${Math.round((performance.now() - startedAt) / 1_000)} s`);
  if (options.check && changes.some(({ kind }) => kind === 'worse' || kind === 'missing'))
    process.exitCode = 1;
}

/** Everything that sections share. A signal, and the limit of time, close it and end the process. */
async function openContext(
  { rounds, concurrency }: BenchOptions,
  opened: AsyncDisposableStack,
): Promise<BenchContext> {
  const dir = mkdtempSync(join(tmpdir(), 'hermes-bench-'));
  const plan = planFleet({
    root: resolve(import.meta.dirname, '../..'),
    dir: join(dir, 'fleet'),
    portOffset: await freeOffset(),
  });
  const fleet = createFleetControl(
    () => startFleet(plan),
    () => stopFleet(plan),
  );
  const remove = (): void => rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  opened.defer(remove);
  opened.defer(() => fleet.close());
  let isEnding = false;
  const give = (reason: string, code: number): void => {
    if (isEnding) return;
    isEnding = true;
    console.error(`\nbench: ${reason}; stops what it started`);
    const end = (): never => {
      // Runs last, after the listeners that kill servers, which still write.
      process.once('exit', remove);
      process.exit(code);
    };
    fleet.close().then(end, (error: unknown) => {
      console.error(`bench: the fleet may still run, see ${dir}: ${String(error)}`);
      process.exit(1);
    });
  };
  process.on('SIGINT', () => give('stopped by SIGINT', 130));
  process.on('SIGTERM', () => give('stopped by SIGTERM', 143));
  const limit = setTimeout(() => give(`gave up after ${LIMIT_MS / 60_000} minutes`, 1), LIMIT_MS);
  opened.defer(() => clearTimeout(limit));

  const cores = findCores();
  let load: LoadProcess | undefined;
  return {
    dir,
    rounds,
    concurrency,
    cores,
    plan,
    async load() {
      load ??= opened.use(startLoad(cores?.load));
      return load;
    },
    fleet,
  };
}

function printChanges(changes: readonly Change[], figures: readonly Figure[], { ratios }: Baseline): void {
  const of = (kind: Change['kind']): readonly Change[] => changes.filter((change) => change.kind === kind);
  console.log('\nCompared with test/bench/baseline.json');
  const known = [...of('worse'), ...of('missing'), ...of('better')];
  const compared = figures.filter(({ key, unit }) => unit === 'ratio' && ratios[key]).length;
  if (known.length === 0)
    console.log(
      compared === 0 ? '  no ratio to compare' : `  none of ${compared} ratios changed beyond the noise`,
    );
  for (const { text } of known) console.log(`  ${text}`);
  if (of('new').length > 0) console.log(`  ${of('new').length} ratios are not in the baseline`);
}
