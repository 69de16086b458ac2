import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { allProcesses, environmentOf, type ProcessStatus, processStatus } from '../process/proc.ts';
import type { CommandMonitor, RunningCommand } from '../process/run-command.ts';
import { createHeldMemory, type Owned } from './held-memory.ts';
import { type MemoryRoom, memoryRoom, ownMemoryGroups } from './memory-room.ts';

const EVERY_MS = 500;
/** The part of the time that sampling may take, as a divisor, and in a shortage. */
const SHARE = 50;
const SHORT_SHARE = 10;
const KIB_PER_MIB = 1024;
/** Commands can take 4 GiB a second: the room is measured again before they can have used it up. */
const KIB_PER_MS = 4 * KIB_PER_MIB;
const ROOM_EVERY_MS = 20;
/**
 * The users are asked what they hold when shared memory grew by a reserve, and time and again with less room than so many
 * reserves, or when a command might exceed its limit.
 */
const ASK_BELOW = 4;
const ASK_EVERY_MS = 1000;
/** What would be taken in this time counts as taken, up to so many reserves: the kernel is quick to end the wrong process. */
const AHEAD_MS = 150;
const AHEAD_RESERVES = 2;
/** The memory of an ended command is free after this time at most. */
const FREED_MS = 500;

interface Member extends ProcessStatus {
  /** Those of the watched commands' marks that are in its environment. */
  readonly carried: readonly string[];
}

/** The memory of a command, in KiB: what belongs to a process alone, swapped out or not, and shared memory once. */
interface Measured {
  readonly command: RunningCommand;
  readonly own: number;
  /** The most that one process maps. */
  readonly mapped: number;
  readonly held: number;
  /** It may hold more shared memory, of which only the machine's whole is known. */
  readonly hides: boolean;
  readonly members: readonly Owned[];
}

/** The KiB of memory files that a process of a user holds; Infinity when that cannot be found out. */
export type Asked = (pid: number) => number;

/**
 * Creates a monitor that ends a command whose processes together hold more than `limitMb` MiB of memory, and in a shortage
 * of memory the command that holds most, if that is more than the reserve (docs/configuration.md#limits-of-commands). One
 * pass over /proc serves all commands. It is made every 500 ms, or less often if it would take more than 2% of the time.
 */
export function createMemoryWatch(options: {
  /** 0: no limit. */
  readonly limitMb: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Asks a user for what its processes hold and this process may not look at. Never rejects. */
  readonly ask?: ((uid: number) => Promise<Asked>) | undefined;
  /** Default: /proc. */
  readonly readEnvironment?: (pid: number) => readonly string[];
  /** Default: that of the machine and of the control groups. */
  readonly readRoom?: () => MemoryRoom;
}): CommandMonitor {
  const { limitMb, clock, log, ask, readEnvironment = environmentOf } = options;
  const limitKib = (limitMb || Number.POSITIVE_INFINITY) * KIB_PER_MIB;
  const groups = ownMemoryGroups();
  const { readRoom = () => memoryRoom(groups) } = options;
  const heldMemory = createHeldMemory();
  const running = new Set<RunningCommand>();
  let timer: Disposable | undefined;
  /** When to sample, to weigh the commands in a shortage, to end another one, and to ask again. */
  const due = { pass: 0, weigh: 0, end: 0, ask: 0 };
  /** What users said last, and how much shared memory there was then. */
  const asked = new Map<number, Asked>();
  let sharedThenKib = 0;
  let asking = false;
  /** When the room was last looked at, its size, what was left, and how much of it was taken in a millisecond. */
  let taken = { at: 0, totalKib: 0, leftKib: 0, perMs: 0 };
  /** The most that was left while commands ran, for each size of the room: what is missing since, they may have taken. */
  const mostLeft = new Map<number, number>();
  let warned = false;

  function look(): MemoryRoom {
    const room = readRoom();
    mostLeft.set(room.totalKib, Math.max(room.leftKib, mostLeft.get(room.totalKib) ?? 0));
    return room;
  }

  function tick(): void {
    const room = look();
    const now = clock.monotonic();
    const { totalKib, leftKib } = room;
    // Another room may be the tighter one now: what is left there says nothing of what was taken.
    const perMs = totalKib === taken.totalKib ? (taken.leftKib - leftKib) / (now - taken.at) || 0 : 0;
    taken = { at: now, totalKib, leftKib, perMs };
    sharedThenKib = Math.min(sharedThenKib, room.sharedKib);
    const grew = room.sharedKib > sharedThenKib + room.reserveKib;
    const isLow = now >= due.ask && room.leftKib < room.reserveKib * ASK_BELOW;
    relieve(room, asking || (ask !== undefined && (grew || isLow)));
    const isUnclear = now >= due.pass && holdLimit(room, new Map()) && now >= due.ask;
    if (ask !== undefined && (grew || isLow || isUnclear) && !asking) void askUsers(ask, room);
    schedule(room);
  }

  /** True when less than the reserve is left, or would be soon, if as much is taken as since the last look. */
  function isShort({ leftKib, reserveKib }: MemoryRoom): boolean {
    const soon = Math.min(Math.max(taken.perMs, 0) * AHEAD_MS, reserveKib * AHEAD_RESERVES);
    return leftKib - soon < reserveKib;
  }

  async function askUsers(
    question: (uid: number) => Promise<Asked>,
    { sharedKib }: MemoryRoom,
  ): Promise<void> {
    asking = true;
    sharedThenKib = sharedKib;
    const startedAt = clock.monotonic();
    const uids = new Set(measure(() => false).flatMap(({ members }) => members.map(({ uid }) => uid)));
    for (const uid of asked.keys()) if (!uids.has(uid)) asked.delete(uid);
    await Promise.all(
      [...uids].map(async (uid) => {
        asked.set(uid, await question(uid));
      }),
    );
    asking = false;
    if (running.size === 0) return;
    due.ask = clock.monotonic() + Math.max(ASK_EVERY_MS, (clock.monotonic() - startedAt) * SHARE);
    due.weigh = 0;
    const room = look();
    holdLimit(room, asked);
    relieve(room, false);
  }

  /** Ends commands that exceed the limit. True when one might, by what this process cannot see. */
  function holdLimit(room: MemoryRoom, answers: ReadonlyMap<number, Asked>): boolean {
    const startedAt = clock.monotonic();
    let isUnclear = false;
    for (const each of measure(({ own }) => own + room.sharedKib > limitKib)) {
      const said = saidOf(each, answers);
      const kib = total({ ...each, held: each.held + (Number.isFinite(said) ? said : 0) });
      isUnclear ||= each.own + room.sharedKib > limitKib;
      if (kib > limitKib) end(each.command, exceeds(kib, limitMb));
    }
    due.pass = clock.monotonic() + Math.max(EVERY_MS, (clock.monotonic() - startedAt) * SHARE);
    return isUnclear;
  }

  /**
   * Ends the command that holds most, in a shortage. Where `waits`, for answers, only one that is seen to hold far more than the
   * reserve, since earlier answers may no longer be true. None, where that would be the wrong one: it holds less than half of what is missing and the others do not hold.
   */
  function relieve(room: MemoryRoom, waits: boolean): void {
    const startedAt = clock.monotonic();
    if (!isShort(room) || startedAt < Math.max(due.weigh, due.end)) return;
    const answers = waits ? new Map<number, Asked>() : asked;
    const [largest, ...others] = measure(() => true)
      .map((each) => {
        const held = each.hides
          ? room.sharedKib
          : Math.min(each.held + saidOf(each, answers), room.sharedKib);
        return { command: each.command, own: each.own, kib: total({ ...each, held }) };
      })
      .sort((a, b) => b.kib - a.kib || b.own - a.own);
    due.weigh = clock.monotonic() + (clock.monotonic() - startedAt) * SHORT_SHARE;
    // Without one, others took the memory, or the kernel has to choose.
    if (largest === undefined || largest.kib < room.reserveKib * (waits ? ASK_BELOW : 1)) return;
    const missing = (mostLeft.get(room.totalKib) ?? 0) - room.leftKib - sum(others.map(({ kib }) => kib));
    if (largest.kib < missing / 2) {
      if (!waits && !warned)
        log.warn(
          { of: room.of, leftMib: mib(room.leftKib), largestMib: mib(largest.kib), missingMib: mib(missing) },
          'memory is short, and no command of this profile is seen to hold it',
        );
      warned ||= !waits;
      return;
    }
    end(
      largest.command,
      `the memory of ${room.of} is nearly used up (${mib(room.leftKib)} MiB are left), and of all commands this one held the most (${mib(largest.kib)} MiB)`,
    );
  }

  function end(command: RunningCommand, limit: string): void {
    command.end(limit);
    due.end = clock.monotonic() + FREED_MS;
  }

  /** What each command holds. Shared memory that no process maps is looked at only where `looks` asks for it. */
  function measure(looks: (found: { readonly own: number }) => boolean): Measured[] {
    const processes = new Map<number, Member>();
    const watched = new Set([...running].map(({ marks }) => marks.env));
    watched.delete(undefined);
    for (const pid of allProcesses()) {
      const status = processStatus(pid);
      if (status === undefined) continue;
      // An environment may have thousands of entries, so it is read once for all commands.
      const carried = watched.size === 0 ? [] : readEnvironment(pid).filter((entry) => watched.has(entry));
      processes.set(pid, { ...status, carried });
    }
    return [...running].map((command) => {
      const found = [...processes].filter((each) => belongs(each, command, processes));
      const own = sum(found.map(([, { anonymousKib }]) => anonymousKib));
      const mapped = Math.max(0, ...found.map(([, { sharedKib }]) => sharedKib));
      const members = found.map(([pid, { uid }]) => ({ pid, uid }));
      const { kib, hides } = looks({ own }) ? heldMemory(members) : { kib: 0, hides: false };
      return { command, own, mapped, held: kib, hides, members };
    });
  }

  function schedule(room: MemoryRoom): void {
    const until = Math.max(due.pass - clock.monotonic(), 0);
    const wait = Math.min(until, Math.max(room.leftKib / KIB_PER_MS, ROOM_EVERY_MS));
    timer = running.size === 0 ? undefined : clock.timer(tick, wait);
  }

  return (command) => {
    running.add(command);
    if (timer === undefined) {
      const room = look();
      taken = { at: clock.monotonic(), totalKib: room.totalKib, leftKib: room.leftKib, perMs: 0 };
      due.pass = taken.at + EVERY_MS;
      schedule(room);
    }
    return {
      [Symbol.dispose]() {
        running.delete(command);
        if (running.size > 0) return;
        timer?.[Symbol.dispose]();
        timer = undefined;
        mostLeft.clear();
        asked.clear();
        warned = false;
      },
    };
  };
}

const exceeds = (kib: number, limitMb: number): string =>
  `its processes used ${mib(kib)} MiB of memory, and the limit is ${limitMb} (tools.shell.limits.memory_mb)`;

/** What the users said of the command's processes. */
const saidOf = ({ members }: Measured, answers: ReadonlyMap<number, Asked>): number =>
  sum(members.map(({ pid, uid }) => answers.get(uid)?.(pid) ?? 0));

/** What is held may be mapped as well. */
const total = ({ own, mapped, held }: Pick<Measured, 'own' | 'mapped' | 'held'>): number =>
  own + Math.max(mapped, held);

const mib = (kib: number): number => Math.round(kib / KIB_PER_MIB);
const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

function belongs(
  [pid, { groups, carried }]: readonly [number, Member],
  command: RunningCommand,
  processes: ReadonlyMap<number, Member>,
): boolean {
  const { gid, env } = command.marks;
  return (
    isDescendant(pid, command.pid, processes) ||
    (gid !== undefined && groups.includes(gid)) ||
    (env !== undefined && carried.includes(env))
  );
}

function isDescendant(pid: number, ancestor: number, processes: ReadonlyMap<number, ProcessStatus>): boolean {
  // A table that changes while it is read could have a circle, which its size bounds.
  for (let at = pid, steps = 0; at > 1 && steps <= processes.size; steps += 1) {
    if (at === ancestor) return true;
    at = processes.get(at)?.parent ?? 0;
  }
  return false;
}
