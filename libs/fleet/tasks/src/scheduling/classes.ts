import type { Needs, Outlook, Turn } from './turn.ts';

/** The outlook of tasks that need a place in their lane only. */
const ROOM: Outlook = {
  verdict: 'queued',
  roomAfterMs: () => 0,
  changesAt: Number.POSITIVE_INFINITY,
};

interface Member {
  readonly needs: Needs;
  readonly turn: Turn | undefined;
}

/** The waiting tasks with equal needs. */
export interface Class<T> {
  readonly members: Set<T>;
  /** Members that do not know the outlook yet. */
  readonly uninformed: Set<T>;
  outlook: Outlook | undefined;
  /** The room after so many changes. */
  room: { readonly changes: number; readonly afterMs: number } | undefined;
}

/** Groups waiting tasks by their needs, so that what holds for one is found out once for all. */
export class Classes<T extends Member> {
  readonly #classes = new Map<string, Class<T>>();
  /** Tasks whose needs may change. */
  readonly unsettled = new Set<T>();
  /** No needs change by time before this, ms since the epoch. */
  #needsChangeAt = Number.POSITIVE_INFINITY;

  get size(): number {
    return this.#classes.size;
  }

  all(): Class<T>[] {
    return [...this.#classes.values()];
  }

  add(task: T): void {
    const { key, until } = task.needs;
    const known = this.#classes.get(key) ?? {
      members: new Set<T>(),
      uninformed: new Set<T>(),
      outlook: undefined,
      room: undefined,
    };
    known.members.add(task);
    known.uninformed.add(task);
    this.#classes.set(key, known);
    if (until === undefined) return;
    this.unsettled.add(task);
    this.#needsChangeAt = Math.min(this.#needsChangeAt, until);
  }

  remove(task: T): void {
    const { key } = task.needs;
    const known = this.#classes.get(key);
    known?.members.delete(task);
    known?.uninformed.delete(task);
    if (known?.members.size === 0) this.#classes.delete(key);
    this.unsettled.delete(task);
  }

  /** The unsettled tasks, each of which is to be added or kept with its renewed needs. */
  renewing(): T[] {
    this.#needsChangeAt = Number.POSITIVE_INFINITY;
    return [...this.unsettled];
  }

  /** Keeps a task in its class after a renewal of its needs. */
  keep({ needs: { until = Number.POSITIVE_INFINITY } }: T): void {
    this.#needsChangeAt = Math.min(this.#needsChangeAt, until);
  }

  /** Looks at the places for the tasks of a class. */
  look(known: Class<T>, now: number): void {
    const [first] = known.members;
    if (!first) return;
    const before = known.outlook?.verdict;
    known.outlook = first.turn?.look?.(now) ?? ROOM;
    known.room = undefined;
    if (known.outlook.verdict !== before) for (const task of known.members) known.uninformed.add(task);
  }

  /** How long the task must have waited for the room that there is after so many changes, ms; Infinity if there is none. */
  roomAfterMs({ needs }: T, changes: number): number {
    const known = this.#classes.get(needs.key);
    if (!known?.outlook) return Number.POSITIVE_INFINITY;
    if (known.room?.changes !== changes) known.room = { changes, afterMs: known.outlook.roomAfterMs() };
    return known.room.afterMs;
  }

  /** When an outlook may change by itself, ms since the epoch. */
  outlookChangesAt(): number {
    let at = Number.POSITIVE_INFINITY;
    for (const { outlook } of this.#classes.values()) at = Math.min(at, outlook?.changesAt ?? at);
    return at;
  }

  /** When the needs of a task may change by time, ms since the epoch. */
  needsChangeAt(): number {
    return this.unsettled.size > 0 ? this.#needsChangeAt : Number.POSITIVE_INFINITY;
  }
}
