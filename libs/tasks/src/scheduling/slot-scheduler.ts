import { type Clock, Priority } from '@hermes-fleet/protocol';

/** What the queue orders; `taskId` is unique in it. */
export interface QueueItem {
  readonly taskId: string;
  readonly contextId: string;
  readonly priority: Priority;
}

export interface QueueLimits {
  readonly maxConcurrent: number;
  /** How many may wait beside those that run. */
  readonly depth: number;
  /** Waiting this long lifts a task by one priority step, so that `low` is never starved. */
  readonly ageingMs: number;
}

/** What waits since when; the greater rank goes first. */
export interface WaitingItem {
  readonly priority: Priority;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/** The rank of what waits: its priority, lifted by one step for every `ageingMs` that it has waited. */
export function priorityRank({ priority, since }: WaitingItem, ageingMs: number, now: number): number {
  return Priority.options.indexOf(priority) + Math.floor((now - since) / ageingMs);
}

interface QueueEntry<T> {
  readonly item: T;
  readonly since: number;
  readonly order: number;
}

/**
 * Admitted tasks in the order of priority (with ageing), then arrival; at most `maxConcurrent` run, one per context
 * at a time, and at most `depth` wait (design 1, A task's way). A place is reserved before a task is admitted, so that
 * tasks admitted at the same time can't overfill it together. A running task may be parked: it keeps its context and
 * gives its slot away until it comes back into line, at its old place.
 */
export class SlotScheduler<T extends QueueItem> {
  readonly #limits: QueueLimits;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #waiting = new Map<string, QueueEntry<T>>();
  readonly #running = new Map<string, QueueEntry<T>>();
  readonly #parked = new Map<string, QueueEntry<T>>();
  /** The task that has each context. */
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

  /** Whether no further task has room, waiting or running. */
  get full(): boolean {
    const taken = this.#waiting.size + this.#running.size + this.#reserved;
    return taken >= this.#limits.depth + this.#limits.maxConcurrent;
  }

  /** Keeps a place for a task that is being admitted; false when full. */
  reserve(): boolean {
    if (this.full) return false;
    this.#reserved += 1;
    return true;
  }

  release(): void {
    this.#reserved = Math.max(0, this.#reserved - 1);
  }

  /** Puts a task in line. Room was reserved before, or it is one that a restart takes up again. */
  add(item: T): void {
    this.#arrivals += 1;
    this.#waiting.set(item.taskId, { item, since: this.#clock.now(), order: this.#arrivals });
  }

  /** Puts a task that began in a former process where it stood: parked, with its context. */
  hold(item: T): void {
    this.#arrivals += 1;
    this.#parked.set(item.taskId, { item, since: this.#clock.now(), order: this.#arrivals });
    this.#contexts.set(item.contextId, item.taskId);
  }

  /** Takes the next task to run and counts it as running until `finished`; undefined when none may start now. */
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

  /** Gives the slot of a task that began away, or its place in line for one; nothing for any other task. */
  park(taskId: string): void {
    const place = this.#begun(taskId);
    if (!place) return;
    this.#running.delete(taskId);
    this.#waiting.delete(taskId);
    this.#parked.set(taskId, place);
  }

  /** Puts a parked task back in line; nothing for one that is not parked. */
  unpark(taskId: string): void {
    const place = this.#parked.get(taskId);
    if (!place) return;
    this.#parked.delete(taskId);
    this.#waiting.set(taskId, place);
  }

  /** A task that began has ended, wherever it stands. */
  finished(taskId: string): void {
    const place = this.#begun(taskId);
    if (!place) return;
    for (const places of [this.#running, this.#parked, this.#waiting]) places.delete(taskId);
    this.#contexts.delete(place.item.contextId);
  }

  has(taskId: string): boolean {
    return this.#waiting.has(taskId) || this.#running.has(taskId) || this.#parked.has(taskId);
  }

  /** Takes a task that has not begun out of line; undefined when it does not wait here. */
  remove(taskId: string): T | undefined {
    if (this.#begun(taskId)) return undefined;
    const found = this.#waiting.get(taskId);
    this.#waiting.delete(taskId);
    return found?.item;
  }

  /** How long the oldest has waited, ms; 0 when nobody waits. */
  oldestAgeMs(): number {
    const now = this.#clock.now();
    let oldest = 0;
    for (const { since } of this.#waiting.values()) oldest = Math.max(oldest, now - since);
    return oldest;
  }

  /** Where a task stands that began, and so has its context. */
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
