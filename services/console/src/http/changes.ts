import type { Clock } from '@hermes-fleet/protocol/ports';
import type { Applied } from '../read-model/apply.ts';
import type { StatusDocument } from './status.ts';

/** The views that may have news. */
const VIEWS = ['fleet', 'tasks', 'blocked', 'spending', 'trader'] as const;
type View = (typeof VIEWS)[number];

/** The event `changed` of `GET /api/stream`, at most twice a second: which views have news. */
export interface ChangedDocument {
  readonly views: readonly View[];
  /** `profile/id` of the entered tasks that changed, at most 200. */
  readonly tasks: readonly string[];
}

/** What a stream sends. */
export type Notice =
  | { readonly event: 'status'; readonly data: StatusDocument }
  | { readonly event: 'changed'; readonly data: ChangedDocument };

export interface Changes {
  /** Notes what was projected. */
  applied(applied: readonly Applied[]): void;
  /** Notes that the status may have changed. */
  statusChanged(): void;
  /** All views may have changed. */
  everything(): void;
  /** Calls `listener` with every notice from now on. */
  subscribe(listener: (notice: Notice) => void): Disposable;
  close(): void;
}

const CHANGED_MS = 500;
const STATUS_MS = 5_000;
const MAX_TASKS = 200;

/** Gathers what changes, and tells all listeners at most twice a second; of the status, at most every five seconds. */
export function createChanges(clock: Clock, status: () => StatusDocument): Changes {
  const listeners = new Set<(notice: Notice) => void>();
  let views = new Set<View>();
  let tasks = new Set<string>();
  let changedTimer: Disposable | undefined;
  let statusTimer: Disposable | undefined;
  let isClosed = false;

  const tell = (notice: Notice): void => {
    for (const listener of listeners) listener(notice);
  };
  const tellChanged = (): void => {
    changedTimer = undefined;
    const data = { views: VIEWS.filter((view) => views.has(view)), tasks: [...tasks] };
    views = new Set();
    tasks = new Set();
    tell({ event: 'changed', data });
  };
  const armChanged = (): void => {
    if (!isClosed && listeners.size > 0) changedTimer ??= clock.timer(tellChanged, CHANGED_MS);
  };
  const statusChanged = (): void => {
    if (isClosed || listeners.size === 0) return;
    statusTimer ??= clock.timer(() => {
      statusTimer = undefined;
      tell({ event: 'status', data: status() });
    }, STATUS_MS);
  };

  return {
    applied(applied) {
      if (listeners.size === 0) return;
      for (const { view, task, hasEnded, hasSpent } of applied) {
        views.add(view);
        if (hasEnded) views.add('blocked');
        if (hasSpent) views.add('spending');
        if (task?.entered && tasks.size < MAX_TASKS) tasks.add(`${task.profile}/${task.id}`);
      }
      armChanged();
      statusChanged();
    },
    statusChanged,
    everything() {
      for (const view of VIEWS) views.add(view);
      armChanged();
      statusChanged();
    },
    subscribe(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    close() {
      isClosed = true;
      changedTimer?.[Symbol.dispose]();
      statusTimer?.[Symbol.dispose]();
      listeners.clear();
    },
  };
}
