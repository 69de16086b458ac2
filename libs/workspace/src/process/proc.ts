import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** The processes that this one can see. */
export const allProcesses = (): number[] =>
  readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number);

/** The children of a process's first thread. */
export const childrenOf = (pid: number): number[] =>
  read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);

/** Whether a process has this supplementary group. */
export const inGroup = (pid: number, gid: number): boolean =>
  new RegExp(`^Groups:.*\\b${gid}\\b`, 'm').test(read(`/proc/${pid}/status`));

/** Whether a process was started with `NAME=value` in its environment; false where that is not for us to read. */
export const carriesMark = (pid: number, mark: string): boolean =>
  read(`/proc/${pid}/environ`).split('\0').includes(mark);

export interface ProcessState {
  /**
   * When it started, in the kernel's own count: a process id that is given out again comes with another start.
   */
  readonly start: string;
  /** Not just waiting for its parent to take note of its end. */
  readonly alive: boolean;
}

/** Undefined when there is no such process. */
export function processState(pid: number): ProcessState | undefined {
  const stat = read(`/proc/${pid}/stat`);
  // The name of the program, in brackets, may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, start] = [fields[0], fields[START_FIELD]];
  return state === undefined || start === undefined ? undefined : { start, alive: !/[ZX]/.test(state) };
}

/** Of the fields behind the name. */
const START_FIELD = 19;

export const isAlive = (pid: number): boolean => processState(pid)?.alive === true;

/** Where process ids have their meaning: this start of the machine, and this namespace. */
export function processSpace(): string {
  return `${read('/proc/sys/kernel/random/boot_id').trim()} ${readlinkSync('/proc/self/ns/pid')}`;
}

/** A file of /proc, empty once its process is gone or where it is not for us to read. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
