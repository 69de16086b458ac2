import { readdirSync, readlinkSync } from 'node:fs';
import { textNow } from './system-error.ts';

/** Pids of all processes visible to this one. */
export const allProcesses = (): number[] =>
  readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number);

/** Children of the process's main thread. */
export const childrenOf = (pid: number): number[] =>
  textNow(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);

export const inGroup = (pid: number, gid: number): boolean => has(pid, 'Groups', String(gid));

/** Pids of the live processes that run as this user, or can become it again. */
export const processesOf = (uid: number): number[] => {
  const id = String(uid);
  return allProcesses().filter((pid) => has(pid, 'Uid', id) && isAlive(pid));
};

/** True when a line of the process's status has this word. */
function has(pid: number, name: string, word: string): boolean {
  const status = textNow(`/proc/${pid}/status`);
  // Most processes do not have the word anywhere.
  if (!status.includes(word)) return false;
  const line = status.split('\n').find((each) => each.startsWith(`${name}:`));
  return line?.split(/\s+/).includes(word) ?? false;
}

/** The entries `NAME=value` of the environment that the process started with; none when that cannot be read. */
export const environmentOf = (pid: number): string[] => textNow(`/proc/${pid}/environ`).split('\0');

export interface ProcessState {
  /** Start time in clock ticks since boot; it tells a reused pid apart. */
  readonly start: string;
  /** False for a zombie. */
  readonly alive: boolean;
}

/** Returns undefined when there is no such process. */
export function processState(pid: number): ProcessState | undefined {
  const stat = textNow(`/proc/${pid}/stat`);
  // The program name, in parentheses, may contain any character.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, start] = [fields[0], fields[START_FIELD]];
  return state === undefined || start === undefined ? undefined : { start, alive: !/[ZX]/.test(state) };
}

/** The parent, the user, the supplementary groups and the memory of a process. */
export interface ProcessStatus {
  readonly parent: number;
  /** Its real user. */
  readonly uid: number;
  readonly groups: readonly number[];
  /** Memory of its own, in memory or swapped out, with huge pages and its tables of pages, in KiB. */
  readonly anonymousKib: number;
  /** Shared memory, including mapped files of a tmpfs, in KiB. */
  readonly sharedKib: number;
}

/** Returns undefined when there is no such process. */
export function processStatus(pid: number): ProcessStatus | undefined {
  const status = textNow(`/proc/${pid}/status`);
  if (status === '') return undefined;
  const line = (name: string): string => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1] ?? '';
  const kib = (name: string): number => Number.parseInt(line(name), 10) || 0;
  return {
    parent: Number(line('PPid')),
    uid: Number.parseInt(line('Uid'), 10),
    groups: line('Groups').split(' ').filter(Boolean).map(Number),
    anonymousKib: kib('RssAnon') + kib('VmSwap') + kib('HugetlbPages') + kib('VmPTE'),
    sharedKib: kib('RssShmem'),
  };
}

/** Index among the fields after the program name. */
const START_FIELD = 19;

export const isAlive = (pid: number): boolean => processState(pid)?.alive === true;

/** The scope in which pids are unique: the current boot and pid namespace. */
export function processSpace(): string {
  return `${textNow('/proc/sys/kernel/random/boot_id').trim()} ${readlinkSync('/proc/self/ns/pid')}`;
}
