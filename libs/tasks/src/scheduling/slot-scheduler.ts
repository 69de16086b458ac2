import { type Clock, Priority } from '@hermes-fleet/protocol';

/** `taskId` is unique in a scheduler. */
export interface QueueItem {
  readonly taskId: string;
  readonly contextId: string;
  readonly priority: Priority;
}

export interface QueueLimits {
  readonly maxConcurrent: number;
  /** The largest number of waiting tasks. */
  readonly depth: number;
  /** Waiting this long raises a task by one priority step, so that `low` does not starve. */
  readonly ageingMs: number;
}

export interface WaitingItem {
  readonly priority: Priority;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/** The priority of a waiting item, raised by one step for every `ageingMs` of waiting. The greatest rank goes first. */
export function priorityRank({ priority, since }: WaitingItem, ageingMs: number, now: number): number {
  return Priority.options.indexOf(priority) + Math.floor((now - since) / ageingMs);
}

interface QueueEntry<T> {
  readonly item: T;
  readonly since: number;
  readonly order: number;
}

/**
 * Assigns slots to admitted tasks by priority (with aging), then arrival. At most `maxConcurrent` tasks run, one per
 * context, and at most `depth` wait. A place is reserved before a task is admitted, so that concurrent admissions cannot
 * exceed the depth. A running task may be parked: it keeps its context and its position, and releases its slot.
 */
export class SlotScheduler<T extends QueueItem> {
  readonly #limits: QueueLimits;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #waiting = new Map<string, QueueEntry<T>>();
  readonly #running = new Map<string, QueueEntry<T>>();
  readonly #parked = new Map<string, QueueEntry<T>>();
  /** The task that holds each context, by context ID. */
  readonly #contexts = new Map<string, string>();
  #reserved = 0;
  #arrivals = 0;

  constructor(limits: QueueLimits, clock: Pick<Clock, 'now'>) {
    this.#limits = limits;
    this.#clock = clock;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  get running(): number {
    return this.#running.size;
  }

  get parked(): number {
    return this.#parked.size;
  }

  /** True if no further task can be admitted. */
  get full(): boolean {
    const taken = this.#waiting.size + this.#running.size + this.#reserved;
    return taken >= this.#limits.depth + this.#limits.maxConcurrent;
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

  /** Enqueues a task. Its place was reserved, or the task is resumed after a restart. */
  add(item: T): void {
    this.#arrivals += 1;
    this.#waiting.set(item.taskId, { item, since: this.#clock.now(), order: this.#arrivals });
  }

  /** Adds a task that began in a former process as parked, with its context. */
  hold(item: T): void {
    this.#arrivals += 1;
    this.#parked.set(item.taskId, { item, since: this.#clock.now(), order: this.#arrivals });
    this.#contexts.set(item.contextId, item.taskId);
  }

  /** Returns the next task to run, which counts as running until `finished`; undefined if none can start. */
  next(): T | undefined {
    if (this.#running.size >= this.#limits.maxConcurrent) return undefined;
    const now = this.#clock.now();
    let best: QueueEntry<T> | undefined;
    for (const candidate of this.#waiting.values()) {
      const { taskId, contextId } = candidate.item;
      if ((this.#contexts.get(contextId) ?? taskId) !== taskId) continue;
      if (!best || this.#before(candidate, best, now)) best = candidate;
    }
    if (!best) return undefined;
    const { taskId, contextId } = best.item;
    this.#waiting.delete(taskId);
    this.#running.set(taskId, best);
    this.#contexts.set(contextId, taskId);
    return best.item;
  }

  /** Releases the slot of a task that began, or ends its wait for one. Ignores other tasks. */
  park(taskId: string): void {
    const place = this.#begun(taskId);
    if (!place) return;
    this.#running.delete(taskId);
    this.#waiting.delete(taskId);
    this.#parked.set(taskId, place);
  }

  /** Enqueues a parked task again, at its old position. Ignores other tasks. */
  unpark(taskId: string): void {
    const place = this.#parked.get(taskId);
    if (!place) return;
    this.#parked.delete(taskId);
    this.#waiting.set(taskId, place);
  }

  /** Removes a task that began, and releases its slot and its context. */
  finished(taskId: string): void {
    const place = this.#begun(taskId);
    if (!place) return;
    for (const places of [this.#running, this.#parked, this.#waiting]) places.delete(taskId);
    this.#contexts.delete(place.item.contextId);
  }

  has(taskId: string): boolean {
    return this.#waiting.has(taskId) || this.#running.has(taskId) || this.#parked.has(taskId);
  }

  /** Removes a waiting task that has not begun; undefined if there is none. */
  remove(taskId: string): T | undefined {
    if (this.#begun(taskId)) return undefined;
    const found = this.#waiting.get(taskId);
    this.#waiting.delete(taskId);
    return found?.item;
  }

  /** The longest wait, ms; 0 if no task waits. */
  oldestAgeMs(): number {
    const now = this.#clock.now();
    let oldest = 0;
    for (const { since } of this.#waiting.values()) oldest = Math.max(oldest, now - since);
    return oldest;
  }

  /** The entry of a task that began, and therefore holds its context. */
  #begun(taskId: string): QueueEntry<T> | undefined {
    const place = this.#running.get(taskId) ?? this.#parked.get(taskId) ?? this.#waiting.get(taskId);
    return place && this.#contexts.get(place.item.contextId) === taskId ? place : undefined;
  }

  #before(a: QueueEntry<T>, b: QueueEntry<T>, now: number): boolean {
    const [rankA, rankB] = [this.#rank(a, now), this.#rank(b, now)];
    return rankA === rankB ? a.order < b.order : rankA > rankB;
  }

  #rank({ item, since }: QueueEntry<T>, now: number): number {
    return priorityRank({ priority: item.priority, since }, this.#limits.ageingMs, now);
  }
}
