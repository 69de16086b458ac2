import type { SchedulingState } from '@hermes-fleet/protocol';

/** This share of the depth is kept for callers that use less than the same share. */
const SHARE = 0.1;

export interface LaneLimits {
  /** Unique in a scheduler. */
  readonly name: string;
  /** The largest number of tasks that have a place at the same time. */
  readonly places: number;
  /** The largest number of tasks that wait; a tenth more for callers that have fewer than a tenth there. */
  readonly depth: number;
}

/** The tasks of one kind, with their limits. Room in a lane is reserved before a task is admitted to it. */
export class Lane {
  readonly limits: LaneLimits;
  readonly #count: Record<SchedulingState, number>;
  /** Tasks and reservations by caller, without those that ask. */
  readonly #callers = new Map<string, number>();
  /** When the waiting tasks began to wait, on the monotonic clock, ms. */
  readonly #waits = new Map<object, number>();
  readonly #listeners: (() => void)[] = [];
  #taken = 0;
  #reserved = 0;

  constructor(limits: LaneLimits) {
    this.limits = limits;
    this.#count = { submitted: 0, waiting: 0, queued: 0, placed: 0, running: 0, asking: 0, ended: 0 };
  }

  get name(): string {
    return this.limits.name;
  }

  /** Tasks that wait for their turn. */
  get waiting(): number {
    return this.#count.waiting + this.#count.queued;
  }

  /** Tasks that have a place. */
  get running(): number {
    return this.#taken;
  }

  /** Tasks that began, and wait for an answer or for a part of their work. */
  get asking(): number {
    return this.#count.asking;
  }

  get hasPlace(): boolean {
    return this.#taken < this.limits.places;
  }

  /** Places that are not taken and not reserved. */
  get freePlaces(): number {
    return Math.max(0, this.limits.places - this.#taken - this.#reserved);
  }

  /** More tasks wait than are allowed beside one of this caller, which waits too. */
  isCrowdedFor(caller: string): boolean {
    return this.waiting > this.#depthBeside(this.#tasksOf(caller) - 1);
  }

  /** No further task of this caller can be admitted. */
  isFullFor(caller: string): boolean {
    const { submitted, placed, running } = this.#count;
    const all = submitted + this.waiting + placed + running + this.#reserved;
    return all >= this.#depthBeside(this.#tasksOf(caller)) + this.limits.places;
  }

  /** When the longest of the waits began, on the monotonic clock, ms; undefined if no task waits. */
  get waitingSince(): number | undefined {
    let oldest: number | undefined;
    for (const since of this.#waits.values()) oldest = Math.min(since, oldest ?? since);
    return oldest;
  }

  /** Calls the listener after each change of the lane's tasks. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  changed(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Reserves room for a task in admission; false if the lane is full. */
  reserve(caller: string): boolean {
    if (this.isFullFor(caller)) return false;
    this.#reserved += 1;
    this.#countCaller(caller, 1);
    return true;
  }

  release(caller: string): void {
    this.#reserved -= 1;
    this.#countCaller(caller, -1);
  }

  /** Counts a task that changes its state; `from` is undefined for a new one. */
  move(caller: string, from: SchedulingState | undefined, to: SchedulingState): void {
    if (from) this.#count[from] -= 1;
    if (to !== 'ended') this.#count[to] += 1;
    this.#countCaller(caller, Number(uses(to)) - Number(uses(from)));
  }

  countPlace(change: number): void {
    this.#taken += change;
  }

  wait(task: object, since: number): void {
    this.#waits.set(task, since);
  }

  endWait(task: object): void {
    this.#waits.delete(task);
  }

  /** The depth for a task whose caller has so many others here. */
  #depthBeside(others: number): number {
    const { depth } = this.limits;
    return others < depth * SHARE ? depth + Math.floor(depth * SHARE) : depth;
  }

  #tasksOf(caller: string): number {
    return this.#callers.get(caller) ?? 0;
  }

  #countCaller(caller: string, change: number): void {
    if (change === 0) return;
    const count = this.#tasksOf(caller) + change;
    if (count > 0) this.#callers.set(caller, count);
    else this.#callers.delete(caller);
  }
}

/** True for a task that counts to the limits of its lane. */
const uses = (state: SchedulingState | undefined): boolean =>
  state !== undefined && state !== 'asking' && state !== 'ended';
