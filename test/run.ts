import { once } from 'node:events';
import { globSync } from 'node:fs';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

/**
 * Runs every test of the repository and closes with one line that counts them. The folders given as arguments narrow
 * it: `node test/run.ts libs/ledger test/fleet`. Unit tests run side by side, whole fleets one after the other, since
 * each of those wants the machine for itself.
 */
const WHOLE_FLEETS = ['test/fleet', 'test/compose'];
const IGNORED = /(^|\/)node_modules\//;

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

function files(folders: readonly string[]): string[] {
  return folders
    .flatMap((folder) => globSync(`${folder}/**/*.test.ts`))
    .filter((file) => !IGNORED.test(file))
    .sort();
}

async function runFiles(selected: string[], concurrency: number, counts: Counts): Promise<void> {
  if (selected.length === 0) return;
  const stream = run({ files: selected, concurrency, timeout: 600_000 });
  stream.on('test:summary', (summary) => {
    if (summary.file !== undefined) return;
    const { tests, passed, skipped, todo } = summary.counts;
    counts.passed += passed;
    counts.skipped += skipped + todo;
    counts.failed += tests - passed - skipped - todo;
  });
  stream.compose(new spec()).pipe(process.stdout, { end: false });
  await once(stream, 'close');
}

const wanted = process.argv.slice(2);
const all = files(wanted.length > 0 ? wanted : ['libs', 'services', 'deploy', 'test']);
if (all.length === 0) {
  console.error(`no test file below ${wanted.join(', ')}`);
  process.exit(2);
}
const isFleet = (file: string): boolean => WHOLE_FLEETS.some((folder) => file.startsWith(`${folder}/`));
const counts: Counts = { passed: 0, failed: 0, skipped: 0 };
await runFiles(
  all.filter((file) => !isFleet(file)),
  2,
  counts,
);
await runFiles(all.filter(isFleet), 1, counts);
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0;
