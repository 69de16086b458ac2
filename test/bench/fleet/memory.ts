import { readdirSync, readFileSync } from 'node:fs';

export interface Memory {
  /** Resident set size, in MB; shared pages count in full. */
  readonly rss: number;
  /** Proportional set size, in MB; NaN where the kernel does not report it. */
  readonly pss: number;
}

/** The memory of one process, without its children. */
export function memoryOf(pid: number): Memory {
  const rss = megabytes(readFileSync(`/proc/${pid}/status`, 'utf8'), 'VmRSS') ?? 0;
  return { rss, pss: pssOf(pid) };
}

/** The memory of all descendants of a process. */
export function memoryBelow(pid: number): Memory {
  const all = descendants(pid).flatMap((child) => {
    try {
      return [memoryOf(child)];
    } catch {
      // The process has ended in the meantime.
      return [];
    }
  });
  return { rss: sum(all.map(({ rss }) => rss)), pss: sum(all.map(({ pss }) => pss)) };
}

function pssOf(pid: number): number {
  try {
    return megabytes(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'), 'Pss') ?? Number.NaN;
  } catch {
    return Number.NaN;
  }
}

function descendants(pid: number): number[] {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
        return [{ pid: Number(name), parent }];
      } catch {
        return [];
      }
    });
  const below = (of: number): number[] =>
    parents.filter(({ parent }) => parent === of).flatMap((child) => [child.pid, ...below(child.pid)]);
  return below(pid);
}

function megabytes(text: string, key: string): number | undefined {
  const value = new RegExp(`^${key}:\\s+(\\d+) kB`, 'm').exec(text)?.[1];
  return value === undefined ? undefined : Number(value) / 1024;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
