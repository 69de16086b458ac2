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
