/** The version of A2A in which a config was created, and in which its notifications are written. */
export type PushVersion = '1.0' | '0.3';

/** `finished`: everything up to the task's end was delivered. `given_up`: the target failed for too long. */
export type PushState = 'active' | 'finished' | 'given_up';

/** A push notification config as its caller gave it. */
export interface NewPushConfig {
  readonly taskId: string;
  /** Unique in its task. */
  readonly id: string;
  readonly version: PushVersion;
  readonly url: string;
  readonly token: string | undefined;
  readonly authentication: { readonly scheme: string; readonly credentials: string } | undefined;
  /** The sequence of the task's event after which its notifications begin. */
  readonly position: number;
}

export interface PushConfig extends NewPushConfig {
  /** Its number, which no other config has had. */
  readonly n: number;
  readonly caller: string;
  /** Everything up to this event was delivered, once `hasBegun`. */
  readonly position: number;
  /** True once the task as it was at the config's creation was delivered. */
  readonly hasBegun: boolean;
  readonly state: PushState;
  /** The failed attempts since the last delivery. */
  readonly failures: number;
  /** The time of the first of them, ms since the epoch. */
  readonly failingSince: number | undefined;
  /** The last failure since the last delivery. */
  readonly detail: string | undefined;
}

export interface PushLimits {
  /** The configs that a task may have. */
  readonly perTask: number;
  /** The active configs that a caller may have. */
  readonly perCaller: number;
}

/** The push notification configs of the tasks (docs/push.md). A change of a config that is gone changes nothing. */
export interface LedgerPush {
  /**
   * Stores a config. One with the same task and id is replaced, and the new one begins at its own position; one that is
   * also the same otherwise keeps its progress, and is active again if it was given up. Throws TASK_NOT_FOUND, and
   * QUEUE_FULL above `limits`.
   */
  save(config: NewPushConfig, limits?: PushLimits): Promise<PushConfig>;
  /** Throws QUEUE_FULL if the caller, or the task, could have no further config beside `pending` others. */
  assertRoom(caller: string, taskId: string | undefined, limits: PushLimits, pending: number): void;
  get(n: number): PushConfig | undefined;
  findConfig(taskId: string, id: string): PushConfig | undefined;
  /** The configs of a task, oldest first. */
  list(taskId: string): PushConfig[];
  /** Resolves with the config that was removed. */
  remove(taskId: string, id: string): Promise<PushConfig | undefined>;
  /** The active configs with a number above `after`, in order, at most `limit`. */
  active(after: number, limit: number): PushConfig[];
  /** Records that everything up to an event was delivered; false if the config is gone. */
  delivered(n: number, position: number): Promise<boolean>;
  /** Records a failed attempt. */
  failed(n: number, at: number, detail: string): Promise<void>;
  /** Ends a config that is active. */
  end(n: number, state: Exclude<PushState, 'active'>): Promise<void>;
}
