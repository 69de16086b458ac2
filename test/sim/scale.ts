import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { textTable } from '../bench/frame/table.ts';

/** The runs of docs/scale.md: as many tasks as a run of some minutes allows. */
const RUNS: readonly { readonly workers: number; readonly tasks: number; readonly taskSeconds: number }[] = [
  { workers: 10, tasks: 1_000_000, taskSeconds: 10 },
  { workers: 100, tasks: 100_000, taskSeconds: 10 },
  { workers: 1_000, tasks: 10_000, taskSeconds: 10 },
  { workers: 10_000, tasks: 2_000, taskSeconds: 60 },
];
const CHILD = join(import.meta.dirname, 'scale-run.ts');

/** Measures each size in a process of its own, so that memory is that of one fleet, and prints a table. */
export async function runScale(print: (text: string) => void): Promise<void> {
  const rows: string[][] = [];
  for (const run of RUNS) {
    const output = execFileSync(process.execPath, ['--expose-gc', CHILD, JSON.stringify(run)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      maxBuffer: 1 << 20,
    });
    rows.push(output.trim().split('\t'));
    print(output.trim());
  }
  print(textTable({ title: 'Scale: fleets of one orchestrator', head: HEAD, rows }));
}

export const HEAD = [
  'workers',
  'tasks',
  'queue time p50/p99, s',
  'ideal p50/p99, s',
  'fairness',
  'announces a second',
  'CPU a task, ms',
  'heap a worker, KiB',
  'run, s',
];
