import { Priority } from '@hermes-fleet/protocol';
import { SortedList } from './sorted-list.ts';

/** A task that waits for a slot. */
export interface WaitingTask {
  readonly contextId: string;
  readonly caller: string;
  readonly priority: Priority;
  /** Position by arrival. */
  readonly order: number;
  /** Position among tasks of the same order; absent: the order is unique. */
  readonly tie?: number;
  /** Start of the wait, ms since the epoch. */
  readonly since: number;
}

/** The tasks of one caller and priority that may start, by arrival. */
interface Line<T> {
  readonly priority: Priority;
  readonly tasks: SortedList<T>;
  /** When the first task became the first, ms since the epoch. */
  since: number;
}

/** The tasks of one context, of which at most one stands in a line. */
interface Context<T> {
  readonly waiting: Map<Priority, SortedList<T>>;
  /** The task that has begun and not ended: no other task of the context may start. */
  holder: T | undefined;
  /** The task that stands in a line. */
  candidate: T | undefined;
}

/** The first task of a line. */
interface Head<T> {
  readonly task: T;
  readonly rank: number;
}

interface Caller {
  readonly waiting: number;
  /** The number of the turn in which the caller was served last. */
  readonly servedAt: number;
}

const URGENT = Priority.options.length - 1;

const byOrder = (a: WaitingTask, b: WaitingTask): number => a.order - b.order || (a.tie ?? 0) - (b.tie ?? 0);
const lineKey = ({ caller, priority }: WaitingTask): string => `${priority} ${caller}`;

const waitingIn = <T extends WaitingTask>({ waiting }: Context<T>, task: T): T | undefined =>
  waiting.get(task.priority)?.has(task) ? task : undefined;

/**
 * Orders the tasks that wait for a slot (docs/handshake.md#priority-and-verification): by priority; within a priority the
 * callers take turns; a caller's own tasks by arrival. The first task of each caller and priority rises with time. A
 * context starts one task at a time. The cost of every operation grows with the number of callers that wait, and not with
 * the number of tasks: `first` looks only at the first task of each caller and priority.
 */
export class WaitingLines<T extends WaitingTask> {
  readonly #ageingMs: number;
  readonly #all = new Set<T>();
  readonly #lines = new Map<string, Line<T>>();
  readonly #contexts = new Map<string, Context<T>>();
  readonly #callers = new Map<string, Caller>();
  #turn = 0;

  constructor(ageingMs: number) {
    this.#ageingMs = ageingMs;
  }

  get size(): number {
    return this.#all.size;
  }

  /** The task that was added first. */
  get oldest(): T | undefined {
    return this.#all.values().next().value;
  }

  /** Adds a task. If it holds its context, no other task of the context starts before it. */
  add(task: T, now: number): void {
    this.#all.add(task);
    // A caller that comes back lines up behind the callers that wait already.
    const caller = this.#callers.get(task.caller) ?? { waiting: 0, servedAt: this.#turn };
    this.#callers.set(task.caller, { ...caller, waiting: caller.waiting + 1 });
    const { waiting } = this.#contextOf(task.contextId);
    const samePriority = waiting.get(task.priority) ?? new SortedList<T>(byOrder);
    samePriority.add(task);
    waiting.set(task.priority, samePriority);
    this.#chooseOf(task.contextId, now);
  }

  /** Removes a waiting task. */
  remove(task: T, now: number): void {
    this.#all.delete(task);
    const caller = this.#callers.get(task.caller);
    if (caller && caller.waiting > 1)
      this.#callers.set(task.caller, { ...caller, waiting: caller.waiting - 1 });
    else this.#callers.delete(task.caller);
    const { waiting } = this.#contextOf(task.contextId);
    const samePriority = waiting.get(task.priority);
    samePriority?.remove(task);
    if (samePriority?.size === 0) waiting.delete(task.priority);
    this.#chooseOf(task.contextId, now);
  }

  /** The task to start next; undefined if none may start. */
  first(now: number): T | undefined {
    let best: Head<T> | undefined;
    for (const line of this.#lines.values()) {
      const task = line.tasks.first;
      if (task === undefined) continue;
      const head = { task, rank: this.#rankOf(line, now) };
      if (best === undefined || this.#isBefore(head, best)) best = head;
    }
    return best?.task;
  }

  /** All tasks that may start, in the order in which they would be served now. */
  *inOrder(now: number): Generator<T> {
    const heads = [...this.#lines.values()].map(({ priority, since, tasks }) => ({
      priority,
      since,
      tasks,
      at: 0,
    }));
    const served = new Map<string, number>();
    for (let turn = this.#turn + 1; ; turn += 1) {
      let best:
        | { readonly head: (typeof heads)[number]; readonly task: T; readonly rank: number }
        | undefined;
      for (const head of heads) {
        const task = head.tasks.at(head.at);
        if (task === undefined) continue;
        const candidate = { head, task, rank: this.#rankOf(head, now) };
        if (best === undefined || this.#isBefore(candidate, best, served)) best = candidate;
      }
      if (best === undefined) return;
      yield best.task;
      served.set(best.task.caller, turn);
      best.head.at += 1;
      best.head.since = now;
    }
  }

  /** The priority of a waiting task as a number, raised by its wait if it is the first of its caller and priority. */
  rankOf(task: T, now: number): number {
    const line = this.#lines.get(lineKey(task));
    return this.#rankOf(line?.tasks.first === task ? line : { priority: task.priority, since: now }, now);
  }

  /** Gives the task its context until `release`, and ends its caller's turn. */
  serve(task: T, now: number): void {
    this.endTurn(task);
    this.hold(task, now);
  }

  /** Counts the task's caller as served last. */
  endTurn({ caller: name }: T): void {
    this.#turn += 1;
    const caller = this.#callers.get(name);
    if (caller) this.#callers.set(name, { ...caller, servedAt: this.#turn });
  }

  /** Reserves the context of a task for it, until `release`. */
  hold(task: T, now: number): void {
    this.#contextOf(task.contextId).holder = task;
    this.#chooseOf(task.contextId, now);
  }

  /** Lets the next task of the context start. Ignores a task that does not hold its context. */
  release(task: T, now: number): void {
    if (!this.isHeldBy(task)) return;
    this.#contextOf(task.contextId).holder = undefined;
    this.#chooseOf(task.contextId, now);
  }

  isHeldBy(task: T): boolean {
    return this.#contexts.get(task.contextId)?.holder === task;
  }

  #contextOf(contextId: string): Context<T> {
    const known = this.#contexts.get(contextId);
    if (known) return known;
    const context = { waiting: new Map(), holder: undefined, candidate: undefined };
    this.#contexts.set(contextId, context);
    return context;
  }

  /** Puts the task of a context that starts next into its line, and takes any other out. */
  #chooseOf(contextId: string, now: number): void {
    const context = this.#contextOf(contextId);
    const { holder, candidate } = context;
    const chosen = holder === undefined ? this.#firstOf(context, now) : waitingIn(context, holder);
    if (chosen !== candidate) {
      if (candidate) this.#leaveLine(candidate, now);
      if (chosen) this.#joinLine(chosen, now);
      context.candidate = chosen;
    }
    if (context.waiting.size === 0 && holder === undefined) this.#contexts.delete(contextId);
  }

  /** The highest rank, then the earliest arrival. */
  #firstOf({ waiting }: Context<T>, now: number): T | undefined {
    let first: T | undefined;
    let highest = Number.NEGATIVE_INFINITY;
    for (const { first: task } of waiting.values()) {
      if (task === undefined) continue;
      const rank = this.#rankOf(task, now);
      if (first === undefined || rank > highest || (rank === highest && byOrder(task, first) < 0)) {
        first = task;
        highest = rank;
      }
    }
    return first;
  }

  #joinLine(task: T, now: number): void {
    const { priority } = task;
    const key = lineKey(task);
    const line = this.#lines.get(key) ?? { priority, tasks: new SortedList<T>(byOrder), since: now };
    line.tasks.add(task);
    // It may have waited before, and been away.
    if (line.tasks.first === task) line.since = Math.min(task.since, now);
    this.#lines.set(key, line);
  }

  #leaveLine(task: T, now: number): void {
    const key = lineKey(task);
    const line = this.#lines.get(key);
    if (!line) return;
    const wasFirst = line.tasks.first === task;
    line.tasks.remove(task);
    if (wasFirst) line.since = now;
    if (line.tasks.size === 0) this.#lines.delete(key);
  }

  #isBefore(a: Head<T>, b: Head<T>, served?: ReadonlyMap<string, number>): boolean {
    if (a.rank !== b.rank) return a.rank > b.rank;
    const servedAt = ({ caller }: T): number =>
      served?.get(caller) ?? this.#callers.get(caller)?.servedAt ?? 0;
    const [servedA, servedB] = [servedAt(a.task), servedAt(b.task)];
    return servedA === servedB ? byOrder(a.task, b.task) < 0 : servedA < servedB;
  }

  /** At most urgent: otherwise a caller with many old tasks would pass every new urgent task. */
  #rankOf({ priority, since }: Pick<WaitingTask, 'priority' | 'since'>, now: number): number {
    const raised = Priority.options.indexOf(priority) + Math.floor((now - since) / this.#ageingMs);
    return Math.min(URGENT, raised);
  }
}
