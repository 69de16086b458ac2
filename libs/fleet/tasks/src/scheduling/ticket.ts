import type { Priority } from '@hermes-fleet/protocol/handshake';
import type { SchedulingState } from './states.ts';

/** A task as the scheduler sees it. */
export interface ScheduledTask {
  readonly taskId: string;
  /** One task of a context goes on at a time. */
  readonly contextId: string;
  readonly caller: string;
  readonly priority: Priority;
  /** When the profile received the task, ms since the epoch. */
  readonly receivedAt: number;
}

/** The needs of a task. Tasks with the same key can go to the same places. */
export interface Needs {
  readonly key: string;
  /**
   * The needs change with time, or with the peers: they are asked for again after changes, and at this time. With many such
   * tasks it may be later, because asking takes at most a tenth of the time.
   */
  readonly until?: number;
}

/** The result of one round for all tasks with the same needs. */
export interface Outlook {
  /** `queued`: some place can take them, once it has room; `waiting`: none can for now; `hopeless`: none ever. */
  readonly verdict: 'queued' | 'waiting' | 'hopeless';
  /** How long a task must have waited for a place that can take it now, ms; Infinity if there is none. */
  roomAfterMs(): number;
  /** When the verdict or the room may change by itself, ms since the epoch. */
  readonly changesAt: number;
}

/** The wait of a task for its turn. */
export interface Turn {
  needs(now: number): Needs;
  /** The places for all tasks with these needs; absent: they need a slot of their lane only. */
  look?(now: number): Outlook;
  /** Reserves a place; undefined if there is none after all. */
  reserve(now: number, waitedMs: number): Disposable | undefined;
  /** The state that a task with a place enters. */
  readonly to: 'submitted' | 'placed' | 'running';
  /** Is called after the task has got its place. */
  begin(): void;
  /** Is called when `needs`, `look` or `reserve` has thrown. The task waits no longer. */
  failed?(error: unknown): void;
  /** Is called after each round that leaves the task waiting with a verdict that is new to it. */
  onVerdict?(verdict: Outlook['verdict']): void;
}

/** A task in the scheduler. Transitions that its state does not allow throw INTERNAL. */
export interface Ticket {
  readonly state: SchedulingState;
  /** True once the task holds its context. */
  readonly hasBegun: boolean;
  /** True if it had to wait for other tasks of its context. */
  readonly cameByContext: boolean;
  /** Calls `begin` as soon as no other task of the context holds it, and gives the task its context. */
  enterContext(begin: () => void): void;
  /** The task waits for its turn. */
  queue(turn: Turn): void;
  /** The task waits no longer, and has no place. */
  leave(): void;
  /** The task is at this place since a former process, however many are there. */
  restore(place: Disposable): void;
  /** The task runs at its place. */
  run(): void;
  /**
   * The task has lost its place and is judged again. It keeps its context and its order; `keepsTurn`: its caller's turn
   * did not count.
   */
  retry(keepsTurn: boolean): void;
  /** The task waits for an answer or for a part of its work, without a place. It keeps its context. */
  ask(): void;
  /** The task goes on at this place. */
  resume(place: Disposable): void;
  /** The task has ended: its place and its context are free. May be repeated. */
  end(): void;
}
