import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { constants as osConstants, totalmem } from 'node:os';
import { delimiter, resolve } from 'node:path';
import type { CommandLine, CommandResult } from '../process/run-command.ts';

/** Limits of one command, or one stdio MCP server (docs/configuration.md#limits-of-commands); 0: no limit. */
export interface CommandLimits {
  /** Processes and threads of the commands' user. */
  readonly processes: number;
  /** Memory of all processes of a command or a server together, in MiB. It is sampled. */
  readonly memoryMb: number;
  /** The data segment of one process, in MiB. */
  readonly dataMb: number;
  /** The size of one file, in MiB. */
  readonly fileMb: number;
  /** Open files of one process. */
  readonly openFiles: number;
  /** CPU time of one process, in seconds. MCP servers, which run as long as the profile, have no such limit. */
  readonly cpuS: number;
}

const MIB = 1024 * 1024;
/** A process that ignores SIGXCPU is killed so much later, in seconds of CPU time. */
const CPU_GRACE_S = 5;
/** Makes the kernel end commands before the gateway when the machine has no memory left. */
const OOM_SCORE_ADJ = 900;
const OWN_SCORE = '/proc/self/oom_score_adj';

const MOST_PROCESSES = 2048;
/** The limit of this container's processes, in version 2 of control groups and in version 1. */
const PIDS_MAX = ['/sys/fs/cgroup/pids.max', '/sys/fs/cgroup/pids/pids.max'];

/** 2048, or half of what the container may have if that is less, so that one user of commands cannot use up all. */
export function defaultProcesses(files: readonly string[] = PIDS_MAX): number {
  const file = files.find((path) => existsSync(path));
  const most = Number(file === undefined ? Number.NaN : readFileSync(file, 'utf8'));
  return most > 0 ? Math.min(MOST_PROCESSES, Math.ceil(most / 2)) : MOST_PROCESSES;
}

/**
 * Half of the memory of the machine, or of the container, in MiB. The other half is for the gateway, its MCP servers and what a
 * command takes between two samples: a task at this limit is ended by it, and not by the kernel.
 */
export function defaultMemoryMb(): number {
  const available = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  return Math.floor(available / 2 / MIB);
}

/** Finds a program by its path, or by its name on a PATH; undefined when there is none. */
export function findProgram(name: string, path: string): string | undefined {
  return path
    .split(delimiter)
    .map((folder) => resolve(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/**
 * A command of the shell that makes the kernel end what is run after it before the gateway; empty where the gateway itself
 * has such a score, as in some pods. It belongs outside of the confinement, within which nothing may change the score.
 */
export function preferCommands(): string {
  const own = Number(readFileSync(OWN_SCORE, 'utf8'));
  return own < OOM_SCORE_ADJ ? `echo ${OOM_SCORE_ADJ} > ${OWN_SCORE}` : '';
}

/**
 * Builds the command line that runs a command under its limits. It belongs inside the namespace and behind the change of
 * the user, because `processes` counts the user's processes there. A limit that this process may not raise stays.
 */
export function limitedCommand(
  limits: CommandLimits,
  options: {
    /** Undefined when the machine has none; then no limit is set. */
    readonly prlimit: string | undefined;
    /** False where the commands' user has other processes too. */
    readonly countProcesses: boolean;
    /** True for a process that runs as long as the profile. */
    readonly lasting: boolean;
  },
): (command: string, args: readonly string[]) => CommandLine {
  const wanted: readonly (readonly [flag: string, name: string, value: number])[] = [
    ['nproc', 'Max processes', options.countProcesses ? limits.processes : 0],
    ['data', 'Max data size', limits.dataMb * MIB],
    ['fsize', 'Max file size', limits.fileMb * MIB],
    ['nofile', 'Max open files', limits.openFiles],
    ['cpu', 'Max cpu time', options.lasting ? 0 : limits.cpuS],
  ];
  const hard = hardLimits();
  const flags = wanted
    .filter(([, , value]) => value > 0)
    .map(([flag, name, value]) => {
      const most = hard.get(name) ?? Number.POSITIVE_INFINITY;
      if (flag !== 'cpu') return `--${flag}=${Math.min(value, most)}`;
      return `--cpu=${Math.min(value, most)}:${Math.min(value + CPU_GRACE_S, most)}`;
    });
  const { prlimit } = options;
  return (command, args) =>
    prlimit === undefined || flags.length === 0
      ? { command, args }
      : { command: prlimit, args: [...flags, '--', command, ...args] };
}

/** The hard limits of this process by their names in /proc, in bytes, seconds or as counts. */
function hardLimits(): Map<string, number> {
  const rows = readFileSync('/proc/self/limits', 'utf8').matchAll(/^(Max .*?) {2,}\S+ +(\d+) /gm);
  return new Map([...rows].map(([, name = '', hard]) => [name, Number(hard)]));
}

/** A shell reports a command that a signal ended by an exit code above this. */
const BY_SIGNAL = 128;
const { SIGXCPU, SIGXFSZ } = osConstants.signals;

/**
 * Names the limit that a failed command met, as far as that can be known: the kernel sends SIGXCPU and SIGXFSZ for two of
 * them, and for the others a program reports the error by its usual text. Undefined when nothing points to a limit.
 */
export function limitMet(
  end: Pick<CommandResult, 'exitCode' | 'signal' | 'stderr'>,
  limits: CommandLimits,
): string | undefined {
  if (end.exitCode === 0) return undefined;
  const number = end.signal === null ? (end.exitCode ?? 0) - BY_SIGNAL : osConstants.signals[end.signal];
  if (number === SIGXCPU && limits.cpuS > 0)
    return `SIGXCPU: a process used ${limits.cpuS} s of CPU time, the limit tools.shell.limits.cpu_s`;
  if (number === SIGXFSZ && limits.fileMb > 0) return `SIGXFSZ: ${fileLimit(limits)}`;
  return HINTS.find(({ text, value }) => value(limits) > 0 && text.test(end.stderr))?.hint(limits);
}

const fileLimit = ({ fileMb }: CommandLimits): string =>
  `a file would exceed ${fileMb} MiB, the limit tools.shell.limits.file_mb`;

/** Texts of the C library and of Node for the errors of limits. The machine itself may be the cause as well. */
const HINTS: readonly {
  readonly text: RegExp;
  readonly value: (limits: CommandLimits) => number;
  readonly hint: (limits: CommandLimits) => string;
}[] = [
  {
    text: /cannot fork|(fork|clone|pthread_create|thread|spawn).{0,200}(resource temporarily unavailable|EAGAIN)/i,
    value: ({ processes }) => processes,
    hint: ({ processes }) =>
      `a process or thread could not be started (EAGAIN): commands may have ${processes} together (tools.shell.limits.processes), and the machine has a limit of its own`,
  },
  {
    text: /file too large|EFBIG/i,
    value: ({ fileMb }) => fileMb,
    hint: (limits) => `EFBIG: ${fileLimit(limits)}`,
  },
  {
    text: /too many open files|EMFILE/i,
    value: ({ openFiles }) => openFiles,
    hint: ({ openFiles }) =>
      `EMFILE: a process may have ${openFiles} open files (tools.shell.limits.open_files)`,
  },
  {
    text: /cannot allocate memory|out of memory|memory exhausted|failed to allocate|ENOMEM|bad_alloc|MemoryError/i,
    value: ({ dataMb }) => dataMb,
    hint: ({ dataMb }) =>
      `ENOMEM: a process may have ${dataMb} MiB of data (tools.shell.limits.data_mb), and the machine may have no memory left`,
  },
];
