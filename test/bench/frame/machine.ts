import { execFileSync } from 'node:child_process';
import { closeSync, fsyncSync, openSync, readFileSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import type { Cores } from './section.ts';

const FSYNC_MS = 500;
const PAGE = Buffer.alloc(4096, 1);
/** `f_type` of file systems in memory and of common ones on disk (statfs(2)). */
const FILE_SYSTEMS: Readonly<Record<number, string>> = {
  16914836: 'tmpfs',
  61267: 'ext4',
  1481003842: 'xfs',
  2435016766: 'btrfs',
  2035054128: 'overlayfs',
};

export interface Machine {
  readonly cores: number;
  readonly cpu: string;
  /** The load of the last minute before the bench. */
  readonly load: number;
  readonly node: string;
  readonly sqlite: string;
  readonly kernel: string;
  readonly fileSystem: string;
  /** Durable writes of one page per second. */
  readonly fsyncsPerSecond: number;
}

/** What the results depend on. Measures the disk below `dir` for half a second. */
export function readMachine(dir: string): Machine {
  return {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    load: loadavg()[0] ?? Number.NaN,
    node: process.versions.node,
    sqlite: process.versions.sqlite ?? 'unknown',
    kernel: execFileSync('uname', ['-sr'], { encoding: 'utf8' }).trim(),
    fileSystem: FILE_SYSTEMS[statfsSync(dir).type] ?? `0x${statfsSync(dir).type.toString(16)}`,
    fsyncsPerSecond: Math.round(fsyncRate(join(dir, 'fsync'))),
  };
}

/** The machine in one line, without what changes between runs. */
export const describeMachine = ({ cores, cpu, node, sqlite, fileSystem }: Machine): string =>
  `${cores} cores, ${cpu}, ${fileSystem}, Node ${node}, SQLite ${sqlite}`;

function fsyncRate(file: string): number {
  const handle = openSync(file, 'w');
  try {
    const startedAt = performance.now();
    let count = 0;
    for (; performance.now() - startedAt < FSYNC_MS; count += 1) {
      writeSync(handle, PAGE, 0, PAGE.length, 0);
      fsyncSync(handle);
    }
    return count / ((performance.now() - startedAt) / 1000);
  } finally {
    closeSync(handle);
    rmSync(file);
  }
}

/** The first two cores that this process may use; undefined with fewer, or without `taskset`. */
export function findCores(): Cores | undefined {
  const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '';
  const allowed = list.split(',').flatMap((range) => {
    const [from = 0, to = from] = range.split('-').map(Number);
    return Array.from({ length: to - from + 1 }, (_, at) => from + at);
  });
  const [server, load] = allowed;
  if (server === undefined || load === undefined || !hasTaskset()) return undefined;
  return { server, load };
}

function hasTaskset(): boolean {
  try {
    execFileSync('taskset', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** The command line of a program on one core, or anywhere without one. */
export const onCore = (core: number | undefined, program: readonly string[]): readonly string[] =>
  core === undefined ? program : ['taskset', '--cpu-list', String(core), ...program];
