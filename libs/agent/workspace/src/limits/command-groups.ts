import { randomUUID } from 'node:crypto';
import {
  accessSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import type { CommandGroup } from '../process/run-command.ts';
import { ownGroups } from './memory-room.ts';

const LEAF = 'gateway';
const COMMAND = 'command-';
const MODE = 0o755;
const MIB = 1024 * 1024;
/** The processes of an ended command are gone after this time at most. */
const REMOVE_MS = 5000;
const STEP_MS = 20;

/** Names a control group for a command; `open` makes it, and returns undefined, with a warning in the log, where it cannot. */
export type NextGroup = () => { readonly dir: string; readonly open: () => CommandGroup | undefined };

/** How to make groups for commands, or why there can be none. */
export type CommandGroups =
  | { readonly nextGroup: NextGroup; readonly missing?: undefined }
  | { readonly nextGroup?: undefined; readonly missing: string };

export interface GroupOptions {
  /** 0: no limit. */
  readonly memoryMb: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Controllers that the control group needs; default: memory. */
  readonly controllers?: readonly string[] | undefined;
  /** The control group of version 2 that this process is in; default: as /proc says. */
  readonly own?: string;
}

/**
 * Prepares control groups for commands where that of this process is of version 2, delegated, and holds nobody else: this
 * process moves into the group `gateway` below it, and groups that a crashed gateway left are removed. Otherwise everything
 * is as before, and the reason is returned.
 */
export function openCommandGroups(options: GroupOptions): CommandGroups {
  const { controllers = ['memory'], memoryMb, log } = options;
  const { own = ownGroups().find(({ version }) => version === 2)?.dir } = options;
  if (own === undefined) return { missing: 'no control groups of version 2' };
  const base = basename(own) === LEAF ? dirname(own) : own;
  const leaf = join(base, LEAF);
  const undo: (() => void)[] = [];
  try {
    const available = words(join(base, 'cgroup.controllers'));
    const lacks = controllers.filter((name) => !available.includes(name));
    if (lacks.length > 0) return { missing: `the control group has no controller ${lacks.join(', ')}` };
    const members = [base, leaf].filter(existsSync).flatMap((dir) => words(join(dir, 'cgroup.procs')));
    if (members.join() !== String(process.pid)) return { missing: 'the control group has other processes' };
    const others = readdirSync(base, { withFileTypes: true }).filter(
      (entry) => entry.isDirectory() && entry.name !== LEAF && !entry.name.startsWith(COMMAND),
    );
    if (others.length > 0) return { missing: 'the control group has other groups' };
    if (own === base) {
      mkdirSync(leaf, { recursive: true, mode: MODE });
      undo.unshift(() => rmdirSync(leaf));
      write(leaf, 'cgroup.procs', process.pid);
      undo.unshift(() => write(base, 'cgroup.procs', process.pid));
    }
    const turn = (sign: '+' | '-'): void =>
      write(base, 'cgroup.subtree_control', controllers.map((name) => sign + name).join(' '));
    turn('+');
    undo.unshift(() => turn('-'));
    if (controllers.includes('memory')) accessSync(join(leaf, 'memory.oom.group'));
    for (const name of readdirSync(base)) if (name.startsWith(COMMAND)) remove(join(base, name), options);
  } catch (error) {
    for (const step of undo) {
      try {
        step();
      } catch (cause) {
        log.warn({ group: base, error: String(cause) }, 'the control group of the gateway is not as it was');
      }
    }
    return { missing: `the control group cannot be used: ${error instanceof Error ? error.message : error}` };
  }
  const open = (dir: string): CommandGroup | undefined => {
    try {
      mkdirSync(dir, MODE);
      if (controllers.includes('memory')) {
        if (memoryMb > 0) write(dir, 'memory.max', memoryMb * MIB);
        write(dir, 'memory.oom.group', 1);
      }
    } catch (error) {
      log.warn({ error: String(error) }, 'a command has no control group of its own');
      if (existsSync(dir)) remove(dir, options);
      return undefined;
    }
    return { endedFor: () => endedFor(dir, memoryMb), [Symbol.dispose]: () => remove(dir, options) };
  };
  return {
    nextGroup() {
      const dir = join(base, COMMAND + randomUUID());
      return { dir, open: () => open(dir) };
    },
  };
}

/** Why the kernel ended the group's processes; undefined when it did not. */
function endedFor(dir: string, memoryMb: number): string | undefined {
  const file = join(dir, 'memory.events');
  const events = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const count = (name: string): number => Number(new RegExp(`^${name} (\\d+)`, 'm').exec(events)?.[1] ?? 0);
  if (count('oom_kill') === 0) return undefined;
  return count('oom') > 0
    ? `its processes needed more than ${memoryMb} MiB of memory, the limit tools.shell.limits.memory_mb`
    : 'the memory of this machine or this control group was used up, and the kernel ended this command';
}

/** Removes the group as soon as the kernel lets it: while processes are ending, it does not. What stays, the next start removes. */
function remove(
  dir: string,
  options: Pick<GroupOptions, 'clock' | 'log'>,
  until = options.clock.monotonic() + REMOVE_MS,
): void {
  try {
    rmdirSync(dir);
  } catch (error) {
    if (!existsSync(dir)) return;
    if (options.clock.monotonic() < until) options.clock.timer(() => remove(dir, options, until), STEP_MS);
    else
      options.log.warn(
        { group: dir, error: String(error) },
        'the control group of a command was not removed',
      );
  }
}

const words = (file: string): string[] => readFileSync(file, 'utf8').split(/\s+/).filter(Boolean);

const write = (dir: string, file: string, value: string | number): void =>
  writeFileSync(join(dir, file), String(value));
