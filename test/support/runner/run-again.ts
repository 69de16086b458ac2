import type { FileResult } from './run-file.ts';
import { GIVE_UP_MS, runFile } from './run-file.ts';

/** With more failed files, the fault is not one of timing. */
const MAX_FILES = 5;

/**
 * Runs the files that failed once more, one after the other, when no other test runs: then a failure is one that the file has
 * by itself, and not the machine's. The second result counts if no test is missing or skipped in it that ran before. Resolves
 * with all results, and a line for each file that ran again, with the tests that had failed. A file with random cases runs
 * again with the same cases, or not at all. When more than five files failed, none runs again. All have ended when no
 * milliseconds are left.
 */
export async function runAgain(
  root: string,
  results: readonly FileResult[],
  print: (text: string) => void,
  leftMs = (): number => GIVE_UP_MS,
): Promise<{ readonly results: FileResult[]; readonly lines: string[] }> {
  const failed = results.filter((result) => result.failed > 0);
  if (failed.length === 0 || failed.length > MAX_FILES) return { results: [...results], lines: [] };
  const second = new Map<string, FileResult>();
  const lines: string[] = [];
  for (const first of failed) {
    const { file, failures } = first;
    const giveUpMs = leftMs();
    if (giveUpMs <= 0) break;
    const env = drawnBy(first);
    if (env === undefined) {
      lines.push(
        `  ${file}: not run again, because its random cases would be others; before: ${failures.join(', ')}`,
      );
      continue;
    }
    const again = await runFile(root, file, { env, giveUpMs });
    print(`${file}, run again alone (${again.seconds.toFixed(1)} s)\n${again.output}`);
    const isWhole = again.skipped <= first.skipped && again.passed >= first.passed + first.failed;
    if (isWhole || again.failed > 0) second.set(file, again);
    const outcome =
      again.failed > 0 ? 'failed again' : isWhole ? 'passed' : 'ran fewer tests, which does not count';
    lines.push(`  ${file}: ${outcome}; before: ${failures.join(', ')}`);
  }
  return { results: results.map((result) => second.get(result.file) ?? result), lines };
}

/**
 * The environment in which a file has the random cases of this run: SAMPLE_FROM and SEED, as its output names them. Undefined
 * where that does not fix them: it drew several times, or fast-check drew.
 */
function drawnBy({ output }: FileResult): Record<string, string> | undefined {
  if (/\bseed: -?\d/.test(output)) return undefined;
  const drawn = new Map<string, Set<string>>();
  for (const [, name = '', value = ''] of output.matchAll(/\b(SAMPLE_FROM|SEED)=(\d+)/g))
    drawn.set(name, (drawn.get(name) ?? new Set()).add(value));
  if (drawn.values().some((values) => values.size > 1)) return undefined;
  return Object.fromEntries([...drawn].map(([name, values]) => [name, [...values].join('')]));
}
