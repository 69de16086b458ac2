import { type Clock, FleetError, type Priority } from '@hermes-fleet/protocol';
import { WaitingLines, type WaitingTask } from './waiting-lines.ts';

/** `taskId` is unique in a scheduler. */
export interface QueueItem {
  readonly taskId: string;
  readonly contextId: string;
  readonly caller: string;
  readonly priority: Priority;
}

export interface QueueLimits {
  readonly maxConcurrent: number;
  /** The largest number of waiting tasks. */
  readonly depth: number;
  /** Waiting this long raises a task by one priority step, so that `low` does not starve. */
  readonly ageingMs: number;
}

/** The states of an admitted task, and the states that may follow (docs/handshake.md#priority-and-verification). */
export type SchedulingState = 'queued' | 'running' | 'parked' | 'ended';
export const TRANSITIONS: Readonly<Record<SchedulingState, readonly SchedulingState[]>> = {
  queued: ['running', 'parked', 'ended'],
  running: ['parked', 'ended'],
  parked: ['queued', 'ended'],
  ended: [],
};

interface Entry<T> extends WaitingTask {
  readonly item: T;
  state: SchedulingState;
}

/**
 * Assigns slots to admitted tasks, in the order of `WaitingLines`. At most `maxConcurrent` tasks run, one per context, and
 * at most `depth` wait. A place is reserved before a task is admitted, so that concurrent admissions cannot exceed the
 * depth. A task that began may be parked: it keeps its context and its position, and releases its slot.
 */
export class SlotScheduler<T extends QueueItem> {
  readonly #limits: QueueLimits;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #entries = new Map<string, Entry<T>>();
  readonly #lines: WaitingLines<Entry<T>>;
  readonly #count = { queued: 0, running: 0, parked: 0, ended: 0 };
  #reserved = 0;
  #arrivals = 0;

  constructor(limits: QueueLimits, clock: Pick<Clock, 'now'>) {
    this.#limits = limits;
    this.#clock = clock;
    this.#lines = new WaitingLines(limits.ageingMs);
  }

  get waiting(): number {
    return this.#count.queued;
  }

  get running(): number {
    return this.#count.running;
  }

  get parked(): number {
    return this.#count.parked;
  }

  /** True if no further task can be admitted. */
  get full(): boolean {
    const taken = this.#count.queued + this.#count.running + this.#reserved;
    return taken >= this.#limits.depth + this.#limits.maxConcurrent;
  }

  /** How many tasks that are admitted now can start at once, unless their contexts are taken. */
  get freeSlots(): number {
    if (this.#lines.first(this.#clock.now()) !== undefined) return 0;
    return Math.max(0, this.#limits.maxConcurrent - this.#count.running - this.#reserved);
  }

  /** Reserves a place for a task in admission; false if full. */
  reserve(): boolean {
    if (this.full) return false;
    this.#reserved += 1;
    return true;
  }

  release(): void {
    this.#reserved = Math.max(0, this.#reserved - 1);
  }

  /**
   * Enqueues a task. Its place was reserved, or the task is resumed after a restart. `hasBegun`: a former process ran a
   * part of it, so it holds its context.
   */
  add(item: T, hasBegun = false): void {
    const entry = this.#create(item, 'queued');
    if (hasBegun) this.#lines.hold(entry, this.#clock.now());
  }

  /** Adds a task that began in a former process as parked, with its context. */
  hold(item: T): void {
    const entry = this.#create(item, 'parked');
    this.#lines.hold(entry, this.#clock.now());
  }

  /** Returns the next task to run, which counts as running until `finished`; undefined if none can start. */
  next(): T | undefined {
    if (this.running >= this.#limits.maxConcurrent) return undefined;
    const now = this.#clock.now();
    const entry = this.#lines.first(now);
    if (!entry) return undefined;
    this.#lines.serve(entry, now);
    this.#enter(entry, 'running');
    return entry.item;
  }

  /** Releases the slot of a task that began, or ends its wait for one. Ignores other tasks. */
  park(taskId: string): void {
    const entry = this.#begun(taskId);
    if (entry && entry.state !== 'parked') this.#enter(entry, 'parked');
  }

  /** Enqueues a parked task again, at its old position. Ignores other tasks. */
  unpark(taskId: string): void {
    const entry = this.#entries.get(taskId);
    if (entry?.state === 'parked') this.#enter(entry, 'queued');
  }

  /** Removes a task that began, and releases its slot and its context. Ignores other tasks. */
  finished(taskId: string): void {
    const entry = this.#begun(taskId);
    if (entry) this.#enter(entry, 'ended');
  }

  has(taskId: string): boolean {
    return this.#entries.has(taskId);
  }

  /** Removes a waiting task that has not begun; undefined if there is none. */
  remove(taskId: string): T | undefined {
    const entry = this.#entries.get(taskId);
    if (entry?.state !== 'queued' || this.#lines.isHeldBy(entry)) return undefined;
    this.#enter(entry, 'ended');
    return entry.item;
  }

  /** The longest wait, ms; 0 if no task waits. */
  oldestAgeMs(): number {
    const { oldest } = this.#lines;
    return oldest ? this.#clock.now() - oldest.since : 0;
  }

  #create(item: T, state: 'queued' | 'parked'): Entry<T> {
    this.#arrivals += 1;
    const { contextId, caller, priority } = item;
    const now = this.#clock.now();
    const entry = { item, contextId, caller, priority, order: this.#arrivals, since: now, state };
    this.#entries.set(item.taskId, entry);
    this.#count[state] += 1;
    if (state === 'queued') this.#lines.add(entry, now);
    return entry;
  }

  /** The entry of a task that began, and therefore holds its context. */
  #begun(taskId: string): Entry<T> | undefined {
    const entry = this.#entries.get(taskId);
    return entry && this.#lines.isHeldBy(entry) ? entry : undefined;
  }

  /** Moves a task to another state, and keeps every index in step. */
  #enter(entry: Entry<T>, state: SchedulingState): void {
    if (!TRANSITIONS[entry.state].includes(state))
      throw new FleetError('INTERNAL', `task ${entry.item.taskId} cannot go from ${entry.state} to ${state}`);
    const now = this.#clock.now();
    if (entry.state === 'queued') this.#lines.remove(entry, now);
    this.#count[entry.state] -= 1;
    entry.state = state;
    if (state === 'ended') {
      this.#lines.release(entry, now);
      this.#entries.delete(entry.item.taskId);
      return;
    }
    this.#count[state] += 1;
    if (state === 'queued') this.#lines.add(entry, now);
  }
}
