import type { Needs, Outlook, Turn } from './ticket.ts';

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
    if (until !== undefined) this.unsettled.add(task);
  }

  remove(task: T): void {
    const { key } = task.needs;
    const known = this.#classes.get(key);
    known?.members.delete(task);
    known?.uninformed.delete(task);
    if (known?.members.size === 0) this.#classes.delete(key);
    this.unsettled.delete(task);
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

  /** When an outlook or the needs of a task may change by themselves, ms since the epoch. */
  changesAt(): number {
    let at = Number.POSITIVE_INFINITY;
    for (const { outlook } of this.#classes.values()) at = Math.min(at, outlook?.changesAt ?? at);
    for (const { needs } of this.unsettled) at = Math.min(at, needs.until ?? at);
    return at;
  }
}
