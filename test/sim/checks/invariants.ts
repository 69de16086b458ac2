/** What must hold at every step of a simulation. */
export type Invariant =
  | 'no task lost'
  | 'none run twice'
  | 'budgets'
  | 'slots'
  | 'every token accounted for'
  | 'progress';

export interface Violation {
  readonly invariant: Invariant;
  readonly detail: string;
  /** Virtual time, ms. */
  readonly at: number;
}

/** Sees every step of every task, and checks it against what happened before. */
export interface Invariants {
  /** The first violation; nothing is checked after it. */
  readonly violation: Violation | undefined;
  readonly counts: { readonly accepted: number; readonly ended: number; readonly done: number };
  /** The orchestrator has accepted a task, durably. */
  accepted(task: string, budget: number): void;
  /** A worker has accepted a task, and has said so. */
  taken(worker: string, task: string): void;
  /** A worker is asked for a task that it does not know. */
  unknown(worker: string, task: string): void;
  /** A worker that starts has these unfinished tasks. */
  restored(worker: string, tasks: ReadonlySet<string>): void;
  /** A worker begins to work for a task, or goes on after a restart. */
  began(worker: string, task: string, slots: number): void;
  /** Metered tokens, at the moment when they are spent. */
  spent(task: string, tokens: number): void;
  /** A worker works for the task no more. `isOver`: it has ended there; else the worker was killed. */
  stopped(worker: string, task: string, isOver: 'done' | 'failed' | 'killed'): void;
  /** The task has ended for its caller. `booked`: the tokens that its orchestrator counts, if it knows how it ended. */
  ended(task: string, status: string, booked: number | undefined): void;
  /** The orchestrator has so many open tasks, of which it keeps these that workers have taken. */
  instant(open: number): void;
  fail(invariant: Invariant, detail: string): void;
}

interface Seen {
  readonly budget: number;
  tokens: number;
  /** The worker that has taken it and not ended it. */
  holder: string | undefined;
  /** The workers that work for it at this moment. */
  readonly running: Set<string>;
  doneBy: string | undefined;
  hasEnded: boolean;
}

export function createInvariants(now: () => number): Invariants {
  /** Every task that has not ended, or that a worker still has. */
  const tasks = new Map<string, Seen>();
  const running = new Map<string, number>();
  const counts = { accepted: 0, ended: 0, done: 0 };
  let violation: Violation | undefined;

  function fail(invariant: Invariant, detail: string): void {
    violation ??= { invariant, detail, at: now() };
  }

  /** A task is forgotten when it has ended everywhere. */
  function forget(id: string, task: Seen): void {
    if (task.hasEnded && task.holder === undefined && task.running.size === 0) tasks.delete(id);
  }

  return {
    get violation() {
      return violation;
    },
    counts,
    accepted(id, budget) {
      if (tasks.has(id)) fail('none run twice', `${id} was accepted twice`);
      counts.accepted += 1;
      tasks.set(id, {
        budget,
        tokens: 0,
        holder: undefined,
        running: new Set(),
        doneBy: undefined,
        hasEnded: false,
      });
    },
    taken(worker, id) {
      const task = tasks.get(id);
      if (!task) return fail('none run twice', `${worker} takes ${id}, which has ended`);
      if (task.holder !== undefined && task.holder !== worker)
        fail('none run twice', `${worker} takes ${id}, which ${task.holder} has`);
      task.holder = worker;
    },
    unknown(worker, id) {
      if (tasks.get(id)?.holder === worker)
        fail('no task lost', `${worker} took ${id}, and does not know it`);
    },
    restored(worker, kept) {
      for (const [id, task] of tasks)
        if (task.holder === worker && !kept.has(id))
          fail('no task lost', `${worker} took ${id}, and does not know it after a restart`);
    },
    began(worker, id, slots) {
      const task = tasks.get(id);
      if (!task) return fail('none run twice', `${worker} begins ${id}, which has ended`);
      if (task.doneBy !== undefined)
        return fail('none run twice', `${worker} begins ${id}, which ${task.doneBy} has done`);
      const [other] = task.running;
      if (other !== undefined)
        return fail('none run twice', `${worker} begins ${id}, on which ${other} works`);
      task.running.add(worker);
      const count = (running.get(worker) ?? 0) + 1;
      running.set(worker, count);
      if (count > slots) fail('slots', `${worker} works on ${count} tasks and has ${slots} slots`);
    },
    spent(id, tokens) {
      const task = tasks.get(id);
      if (!task)
        return fail('every token accounted for', `${tokens} tokens are spent for ${id}, which has ended`);
      task.tokens += tokens;
      if (task.tokens > task.budget)
        fail('budgets', `${task.tokens} tokens are spent for ${id}, whose budget is ${task.budget}`);
    },
    stopped(worker, id, how) {
      const task = tasks.get(id);
      if (!task?.running.delete(worker)) return;
      running.set(worker, (running.get(worker) ?? 1) - 1);
      if (how !== 'killed') task.holder = undefined;
      if (how === 'done') task.doneBy = worker;
      forget(id, task);
    },
    ended(id, status, booked) {
      const task = tasks.get(id);
      if (!task || task.hasEnded) return fail('no task lost', `${id} ended twice`);
      task.hasEnded = true;
      counts.ended += 1;
      if (status === 'done') counts.done += 1;
      if (status === 'done' && task.doneBy === undefined)
        fail('no task lost', `${id} counts as done, and nobody has done it`);
      if (booked !== undefined && booked !== task.tokens)
        fail(
          'every token accounted for',
          `${task.tokens} tokens were spent for ${id}, and ${booked} are booked`,
        );
      forget(id, task);
    },
    instant(open) {
      if (counts.accepted - counts.ended !== open)
        fail(
          'no task lost',
          `${counts.accepted} tasks were accepted, ${counts.ended} have ended, and ${open} are open`,
        );
    },
    fail,
  };
}
