import { Priority } from '@hermes-fleet/protocol/handshake';
import { SortedList } from './sorted-list.ts';

/** A task that waits for its turn. */
export interface WaitingTask {
  /** Tasks with the same needs can go to the same places. It may change only while the task is not in the lines. */
  readonly needs: { readonly key: string };
  readonly contextId: string;
  readonly caller: string;
  readonly priority: Priority;
  /** Position by arrival; unique. */
  readonly order: number;
  /** Start of the wait, on the monotonic clock, ms. */
  readonly since: number;
  /** When the task became the first of its line for the first time. The lines set it. */
  firstSince?: number | undefined;
}

/** The tasks of one caller and priority with equal needs that may start, by arrival. */
interface Line<T> {
  readonly key: string;
  readonly priority: Priority;
  readonly tasks: SortedList<T>;
  /** When the first task became the first, on the monotonic clock, ms. */
  since: number;
}

/** The waiting tasks of one context and priority, by arrival. */
interface ContextTasks<T> {
  readonly priority: Priority;
  readonly tasks: SortedList<T>;
}

/** The tasks of one context, of which at most one stands in a line. */
interface Context<T> {
  readonly id: string;
  /** One element for each priority that waits. */
  readonly waiting: ContextTasks<T>[];
  /** The task that has begun and not ended: no other task of the context may start. */
  holder: T | undefined;
  /** The task that stands in a line. */
  candidate: T | undefined;
  /** The line of the candidate. */
  line: Line<T> | undefined;
}

/** The first task of a line. */
interface Head<T> {
  readonly task: T;
  readonly rank: number;
}

interface Caller {
  waiting: number;
  /** The number of the turn in which the caller was served last. */
  servedAt: number;
}

const URGENT = Priority.options.length - 1;

const byOrder = (a: WaitingTask, b: WaitingTask): number => a.order - b.order;
const lineKey = ({ caller, priority, needs }: WaitingTask): string => `${priority} ${caller} ${needs.key}`;

const tasksOf = <T>({ waiting }: Context<T>, priority: Priority): SortedList<T> | undefined => {
  for (const each of waiting) if (each.priority === priority) return each.tasks;
  return undefined;
};

const waitingIn = <T extends WaitingTask>(context: Context<T>, task: T): T | undefined =>
  tasksOf(context, task.priority)?.has(task) ? task : undefined;

/**
 * Orders the tasks that wait for a slot (docs/handshake.md#priority-and-verification): by priority; within a priority the
 * callers take turns; a caller's own tasks by arrival. The first task of each caller and priority rises with time. A
 * context starts one task at a time. The cost of every operation grows with the number of callers that wait and with the
 * variety of their needs, and not with the number of tasks: `first` looks only at the first task of each line.
 */
export class WaitingLines<T extends WaitingTask> {
  readonly #ageingMs: number;
  readonly #lines = new Map<string, Line<T>>();
  readonly #contexts = new Map<string, Context<T>>();
  readonly #callers = new Map<string, Caller>();
  #turn = 0;
  /** The task that is being added, unless it waited before. */
  #newcomer: T | undefined;

  constructor(ageingMs: number) {
    this.#ageingMs = ageingMs;
  }

  /** Adds a task. If it holds its context, no other task of the context starts before it. */
  add(task: T, now: number): void {
    this.#add(task, now, true);
  }

  #add(task: T, now: number, isNew: boolean): void {
    // A caller that comes back lines up behind the callers that wait already.
    const caller = this.#callers.get(task.caller);
    if (caller) caller.waiting += 1;
    else this.#callers.set(task.caller, { waiting: 1, servedAt: this.#turn });
    const context = this.#contextOf(task.contextId);
    let samePriority = tasksOf(context, task.priority);
    if (!samePriority) {
      samePriority = new SortedList<T>(byOrder);
      context.waiting.push({ priority: task.priority, tasks: samePriority });
    }
    samePriority.add(task);
    this.#newcomer = isNew ? task : undefined;
    this.#chooseOf(context, now);
    this.#newcomer = undefined;
  }

  /** Changes the needs of a waiting task. It keeps its place in the order, and its caller the turn. */
  move(task: T, change: () => void, now: number): void {
    const turn = this.#callers.get(task.caller)?.servedAt;
    this.remove(task, now);
    change();
    this.#add(task, now, false);
    if (turn !== undefined) this.giveBack(task.caller, turn);
  }

  /** Removes a waiting task. */
  remove(task: T, now: number): void {
    const caller = this.#callers.get(task.caller);
    if (caller && caller.waiting > 1) caller.waiting -= 1;
    else this.#callers.delete(task.caller);
    const context = this.#contextOf(task.contextId);
    const at = context.waiting.findIndex(({ priority }) => priority === task.priority);
    const samePriority = context.waiting[at]?.tasks;
    samePriority?.remove(task);
    if (samePriority?.size === 0) context.waiting.splice(at, 1);
    this.#chooseOf(context, now);
  }

  /** The task to start next, among those that can start (`canStart`); undefined if there is none. */
  first(now: number, canStart: (task: T) => boolean = () => true): T | undefined {
    let best: Head<T> | undefined;
    for (const line of this.#lines.values()) {
      const task = line.tasks.first;
      if (task === undefined) continue;
      const head = { task, rank: this.#rankOf(line, now) };
      if ((best === undefined || this.#isBefore(head, best)) && canStart(task)) best = head;
    }
    return best?.task;
  }

  /**
   * Gives the task its context until `release`, and ends its caller's turn. Returns what `giveBack` needs. The task must
   * be in the lines.
   */
  serve(task: T, now: number): number {
    const caller = this.#callers.get(task.caller);
    const before = caller?.servedAt ?? this.#turn;
    this.#turn += 1;
    if (caller) caller.servedAt = this.#turn;
    this.holdContext(task, now);
    return before;
  }

  /** Gives a caller with a waiting task back the turn that a call of `serve` ended. */
  giveBack(name: string, turn: number): void {
    const caller = this.#callers.get(name);
    if (caller) caller.servedAt = Math.min(turn, caller.servedAt);
  }

  /** Reserves the context of a task for it, until `release`. */
  holdContext(task: T, now: number): void {
    const context = this.#contextOf(task.contextId);
    context.holder = task;
    this.#chooseOf(context, now);
  }

  /** Lets the next task of the context start. Ignores a task that does not hold its context. */
  release(task: T, now: number): void {
    const context = this.#contexts.get(task.contextId);
    if (context?.holder !== task) return;
    context.holder = undefined;
    this.#chooseOf(context, now);
  }

  /** True if another task holds the context of this one, or comes before it there. */
  isContextTaken({ contextId }: Pick<WaitingTask, 'contextId'>): boolean {
    const context = this.#contexts.get(contextId);
    return context !== undefined && (context.holder !== undefined || context.waiting.length > 0);
  }

  isHeldBy(task: T): boolean {
    return this.#contexts.get(task.contextId)?.holder === task;
  }

  #contextOf(id: string): Context<T> {
    const known = this.#contexts.get(id);
    if (known) return known;
    const context = { id, waiting: [], holder: undefined, candidate: undefined, line: undefined };
    this.#contexts.set(id, context);
    return context;
  }

  /** Puts the task of a context that starts next into its line, and takes any other out. */
  #chooseOf(context: Context<T>, now: number): void {
    const { holder, candidate, line } = context;
    const chosen = holder === undefined ? this.#firstOf(context, now) : waitingIn(context, holder);
    if (chosen !== candidate) {
      if (candidate && line) this.#leaveLine(candidate, line, now);
      context.candidate = chosen;
      context.line = chosen && this.#joinLine(chosen, now);
    }
    if (context.waiting.length === 0 && holder === undefined) this.#contexts.delete(context.id);
  }

  /** The highest rank, then the earliest arrival. */
  #firstOf({ waiting }: Context<T>, now: number): T | undefined {
    let first: T | undefined;
    let highest = Number.NEGATIVE_INFINITY;
    for (const { tasks } of waiting) {
      const task = tasks.first;
      if (task === undefined) continue;
      const rank = this.#rankOf(task, now);
      if (first === undefined || rank > highest || (rank === highest && byOrder(task, first) < 0)) {
        first = task;
        highest = rank;
      }
    }
    return first;
  }

  #joinLine(task: T, now: number): Line<T> {
    const { priority } = task;
    const key = lineKey(task);
    let line = this.#lines.get(key);
    if (!line) {
      line = { key, priority, tasks: new SortedList<T>(byOrder), since: now };
      this.#lines.set(key, line);
    }
    line.tasks.add(task);
    if (line.tasks.first !== task) return line;
    // A task that comes back has the rank that it had. One that waited behind others of its context rises from now on.
    task.firstSince ??= task === this.#newcomer ? Math.min(task.since, now) : now;
    line.since = task.firstSince;
    return line;
  }

  #leaveLine(task: T, line: Line<T>, now: number): void {
    const wasFirst = line.tasks.first === task;
    line.tasks.remove(task);
    const { first } = line.tasks;
    if (!first) this.#lines.delete(line.key);
    else if (wasFirst) {
      first.firstSince ??= now;
      line.since = first.firstSince;
    }
  }

  #isBefore(a: Head<T>, b: Head<T>): boolean {
    if (a.rank !== b.rank) return a.rank > b.rank;
    const servedAt = ({ caller }: T): number => this.#callers.get(caller)?.servedAt ?? 0;
    const [servedA, servedB] = [servedAt(a.task), servedAt(b.task)];
    return servedA === servedB ? byOrder(a.task, b.task) < 0 : servedA < servedB;
  }

  /** At most urgent: otherwise a caller with many old tasks would pass every new urgent task. */
  #rankOf({ priority, since }: Pick<WaitingTask, 'priority' | 'since'>, now: number): number {
    const raised = Priority.options.indexOf(priority) + Math.floor((now - since) / this.#ageingMs);
    return Math.min(URGENT, raised);
  }
}
