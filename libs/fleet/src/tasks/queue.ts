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

interface Waiting<T> {
  readonly item: T;
  readonly since: number;
  readonly order: number;
}

/**
 * Admitted tasks in the order of priority (with ageing), then arrival; at most `maxConcurrent` run, one per context
 * at a time, and at most `depth` wait (design 1, A task's way). A place is reserved before a task is admitted, so that
 * tasks admitted at the same time can't overfill it together.
 */
export class TaskQueue<T extends QueueItem> {
  readonly #limits: QueueLimits;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #waiting = new Map<string, Waiting<T>>();
  readonly #running = new Map<string, T>();
  readonly #busyContexts = new Set<string>();
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

  /** Takes the next task to run and counts it as running until `finished`; undefined when none may start now. */
  next(): T | undefined {
    if (this.#running.size >= this.#limits.maxConcurrent) return undefined;
    const now = this.#clock.now();
    let best: Waiting<T> | undefined;
    for (const candidate of this.#waiting.values()) {
      if (this.#busyContexts.has(candidate.item.contextId)) continue;
      if (!best || this.#before(candidate, best, now)) best = candidate;
    }
    if (!best) return undefined;
    this.#waiting.delete(best.item.taskId);
    this.#running.set(best.item.taskId, best.item);
    this.#busyContexts.add(best.item.contextId);
    return best.item;
  }

  finished(taskId: string): void {
    const item = this.#running.get(taskId);
    if (!item) return;
    this.#running.delete(taskId);
    this.#busyContexts.delete(item.contextId);
  }

  has(taskId: string): boolean {
    return this.#waiting.has(taskId) || this.#running.has(taskId);
  }

  /** Takes a waiting task out of line; undefined when it does not wait here. */
  remove(taskId: string): T | undefined {
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

  #before(a: Waiting<T>, b: Waiting<T>, now: number): boolean {
    const [rankA, rankB] = [this.#rank(a, now), this.#rank(b, now)];
    return rankA === rankB ? a.order < b.order : rankA > rankB;
  }

  #rank({ item, since }: Waiting<T>, now: number): number {
    return Priority.options.indexOf(item.priority) + Math.floor((now - since) / this.#limits.ageingMs);
  }
}
