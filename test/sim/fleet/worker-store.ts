import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import type { TaskDispatch } from '@hermes-fleet/protocol/handshake';
import type { TokenEntry, TokenStore } from '@hermes-fleet/protocol/ports';

/** A task that a worker has accepted or refused, as its ledger keeps it. */
export interface StoredTask {
  readonly id: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly contextId: string;
  readonly dispatch: TaskDispatch;
  readonly receivedAt: number;
  state: 'submitted' | 'working' | 'completed' | 'failed' | 'rejected' | 'canceled';
  /** The time of the state, ms since the epoch. */
  stateAt: number;
  /** The steps of the work that are behind it. */
  step: number;
  readonly tokens: { id: string; entry: TokenEntry }[];
  result: JsonObject | undefined;
  /** The announce that the answers about the task carry. */
  metadata: JsonObject;
}

export const hasEnded = ({ state }: Pick<StoredTask, 'state'>): boolean =>
  state !== 'submitted' && state !== 'working';

/**
 * Stands in for the ledger of a worker: what it holds survives a crash. `accept` keeps the contract of `Ledger.accept`.
 */
export interface WorkerStore {
  readonly tasks: Map<string, StoredTask>;
  readonly tokens: TokenStore;
  /** The task to which a key is bound. */
  findByKey(
    caller: string,
    key: string,
  ): { readonly task: StoredTask; readonly fingerprint: string } | undefined;
  get(taskId: string): StoredTask | undefined;
  /** Stores a task unless its key is taken. A blocked task frees its key. */
  accept(
    task: StoredTask,
    acceptUntil: number | undefined,
  ): { readonly task: StoredTask; readonly created: boolean };
}

export function createWorkerStore(): WorkerStore {
  const tasks = new Map<string, StoredTask>();
  const open = new Map<string, { id: string; entry: TokenEntry }>();
  let reservations = 0;
  const entriesOf = (taskId: string): StoredTask['tokens'] => tasks.get(taskId)?.tokens ?? [];
  return {
    tasks,
    findByKey(_caller, key) {
      const task = tasks.get(key);
      return task && task.state !== 'rejected' ? { task, fingerprint: task.fingerprint } : undefined;
    },
    get: (taskId) => tasks.get(taskId.slice(taskId.indexOf('/') + 1)),
    tokens: {
      entries: (taskId) => entriesOf(taskId).map(({ entry }) => entry),
      async reserve(taskId, entry) {
        reservations += 1;
        const booked = { id: `r${reservations}`, entry };
        entriesOf(taskId).push(booked);
        open.set(booked.id, booked);
        return booked.id;
      },
      async settle(id, actual) {
        const booked = open.get(id);
        if (booked) booked.entry = actual;
        open.delete(id);
      },
      async add(taskId, entry) {
        entriesOf(taskId).push({ id: '', entry });
      },
    },
    accept(task, acceptUntil) {
      const known = tasks.get(task.key);
      if (known && known.state !== 'rejected') {
        if (known.fingerprint === task.fingerprint) return { task: known, created: false };
        throw new FleetError('TASK_ID_CONFLICT', `another task is called ${task.key}`);
      }
      if (acceptUntil !== undefined && task.receivedAt > acceptUntil)
        throw new FleetError('DISPATCH_EXPIRED', `${task.key} came too late`);
      tasks.set(task.key, task);
      return { task, created: true };
    },
  };
}
