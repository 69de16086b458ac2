import { join } from 'node:path';
import { measuredRun, printed } from './measured-run.ts';
import { type FileResult, GIVE_UP_MS, runFile } from './run-file.ts';

const BATCH_PROCESS = join(import.meta.dirname, 'batch-process.ts');
/** A batch is small files, so one that takes this long hangs. */
const BATCH_GIVE_UP_MS = 400_000;

export interface Ran {
  readonly results: readonly FileResult[];
  /** The output to print. */
  readonly output: string;
}

/**
 * Runs test files in one process. Its results count only if all of them passed: if not, every file runs again in a
 * process of its own and has the result of that, so a failure is always one that the file has by itself. A file that takes
 * longer than `giveUpMs` has failed.
 */
export async function runFiles(root: string, files: readonly string[], giveUpMs = GIVE_UP_MS): Promise<Ran> {
  if (files.length === 1) return await runEach(root, files, giveUpMs);
  const batch = await runBatch(root, files, Math.min(giveUpMs, BATCH_GIVE_UP_MS));
  if (batch.results !== undefined) return { results: batch.results, output: batch.output };
  const { results, output } = await runEach(root, files, giveUpMs);
  const again = `${batch.output}\nNot counted: these files did not pass in one process, so each ran again in its own.`;
  return { results, output: `${again}\n${output}` };
}

async function runEach(root: string, files: readonly string[], giveUpMs: number): Promise<Ran> {
  const results: FileResult[] = [];
  for (const file of files) results.push(await runFile(root, file, { giveUpMs }));
  const printed = results.map(({ file, seconds, output }) => `${file} (${seconds.toFixed(1)} s)\n${output}`);
  return { results, output: printed.join('\n') };
}

/** Without results if a test failed, a file has no test or did not end, or the process failed. */
async function runBatch(
  root: string,
  files: readonly string[],
  giveUpMs: number,
): Promise<{ results?: FileResult[]; output: string }> {
  const startedAt = performance.now();
  using measured = measuredRun({
    files: [BATCH_PROCESS],
    argv: [...files],
    cwd: root,
    signal: AbortSignal.timeout(giveUpMs),
  });
  const { stream } = measured;
  const ended = new Map<string, FileResult>();
  let counts = { passed: 0, skipped: 0 };
  let clean = true;
  stream.on('test:fail', () => {
    clean = false;
  });
  stream.on('test:pass', ({ name, nesting, details, todo, skip }) => {
    if (nesting > 0 && details.type === 'suite') return;
    if (nesting > 0) counts[todo !== undefined || skip !== undefined ? 'skipped' : 'passed'] += 1;
    else {
      const seconds = details.duration_ms / 1_000;
      ended.set(name, {
        ...counts,
        file: name,
        seconds,
        cpuS: undefined,
        failed: 0,
        failures: [],
        output: '',
      });
      counts = { passed: 0, skipped: 0 };
    }
  });
  stream.on('test:summary', ({ success }) => {
    clean &&= success;
  });
  const { output: text, hangs } = await printed(stream, giveUpMs);
  const seconds = (performance.now() - startedAt) / 1_000;
  const output = `${files.length} files in one process (${seconds.toFixed(1)} s)\n${text}`;
  const results = files.map((file) => ended.get(file)).filter((result) => result !== undefined);
  const complete = ended.size === files.length && results.length === files.length;
  if (!clean || hangs || !complete || results.some((r) => r.passed + r.skipped === 0)) return { output };
  // Each file has the time and the CPU time of its tests, and an equal share of what the process took to load them.
  const own = measured.cpuOfFiles();
  const total = measured.cpuS();
  const sum = (values: Iterable<number>): number => [...values].reduce((all, each) => all + each, 0);
  const share = (whole: number, parts: Iterable<number>): number =>
    Math.max(0, whole - sum(parts)) / files.length;
  const secondsToLoad = share(
    seconds,
    results.map((result) => result.seconds),
  );
  const cpuToLoad = share(total ?? 0, own.values());
  const withShares = results.map((result) => ({
    ...result,
    seconds: result.seconds + secondsToLoad,
    cpuS: total === undefined ? undefined : (own.get(result.file) ?? 0) + cpuToLoad,
  }));
  return { output, results: withShares };
}
