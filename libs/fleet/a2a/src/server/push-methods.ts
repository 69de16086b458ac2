import type {
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import type { NewPushConfig, PushConfig, PushVersion, TaskRecord } from '@hermes-fleet/ledger';
import { FleetError, invalidParams, type JsonObject } from '@hermes-fleet/protocol';
import type { Accepted, Caller, Ids } from '@hermes-fleet/protocol/ports';

/** The key of Task.metadata under which GetTask tells how the deliveries of the task's push notifications stand. */
const PUSH_METADATA = 'urn:hermes-fleet:push';

/** A config without what the server adds. */
export type WantedPush = Omit<NewPushConfig, 'taskId' | 'id' | 'position'>;

/** A config that was checked, for a task that may not exist yet. Disposing it gives its place back. */
export interface PlannedPush extends Disposable {
  /** Stores the config, and begins its deliveries. */
  save(taskId: string, id: string): Promise<PushConfig>;
}

/** The delivery of push notifications, as the methods see it. */
export interface PushPort {
  /**
   * Checks the address and the limits. Throws INVALID_PARAMS for an address that is not allowed, PEER_UNREACHABLE if it
   * cannot be looked up now, and QUEUE_FULL above a limit.
   */
  plan(
    wanted: WantedPush,
    caller: string,
    task?: { readonly id: string; readonly config: string },
  ): Promise<PlannedPush>;
  findConfig(taskId: string, id: string): PushConfig | undefined;
  /** Oldest first. */
  list(taskId: string): PushConfig[];
  /** Resolves when no delivery of the config begins any more; a config that is unknown changes nothing. */
  remove(taskId: string, id: string): Promise<void>;
}

/** The call of a method, and the task that it names. */
interface PushCall {
  readonly caller: Caller;
  readonly version: PushVersion;
}

/** The four methods of push notification configs, for tasks that the caller was found to own. */
export function createPushMethods({ push, ids }: { readonly push: PushPort | undefined; readonly ids: Ids }) {
  const enabled = (): PushPort => {
    if (push === undefined) throw pushNotSupported();
    return push;
  };
  return {
    async create({ caller, version }: PushCall, task: TaskRecord, params: TaskPushNotificationConfig) {
      const id = params.id || (version === '0.3' ? task.id : ids.uuid());
      using planned = await enabled().plan(wantedPush(params, version), caller.name, {
        id: task.id,
        config: id,
      });
      return toWire(await planned.save(task.id, id));
    },
    get(task: TaskRecord, { id }: GetTaskPushNotificationConfigRequest): TaskPushNotificationConfig {
      // A2A 0.3 may ask for "the" config of a task.
      const config = id === '' ? enabled().list(task.id)[0] : enabled().findConfig(task.id, id);
      if (config) return toWire(config);
      const which = id === '' ? 'no push notification config' : `no push notification config "${id}"`;
      throw new FleetError('TASK_NOT_FOUND', `task ${task.id} has ${which}`);
    },
    list(
      task: TaskRecord,
      params: ListTaskPushNotificationConfigsRequest,
    ): ListTaskPushNotificationConfigsResponse {
      if (params.pageToken !== '')
        throw invalidParams('pageToken', 'is not known: all configs are on the first page');
      return { configs: enabled().list(task.id).map(toWire), nextPageToken: '' };
    },
    remove: (task: TaskRecord, { id }: DeleteTaskPushNotificationConfigRequest): Promise<void> =>
      enabled().remove(task.id, id),
    /**
     * Hands a message over with its config, which is checked before and stored after. `taskId` is the task that the message
     * continues.
     */
    async accept(
      { caller, version }: PushCall,
      params: TaskPushNotificationConfig,
      taskId: string | undefined,
      handOver: () => Promise<Accepted>,
    ): Promise<Accepted> {
      if (params.taskId !== '' && params.taskId !== taskId) {
        const path = 'configuration.taskPushNotificationConfig.taskId';
        throw invalidParams(path, 'is not the task of the message: leave it out');
      }
      const known = taskId === undefined ? undefined : { id: taskId, config: params.id || taskId };
      using planned = await enabled().plan(wantedPush(params, version), caller.name, known);
      const accepted = await handOver();
      // The id is the same for a copy of the message, which must not make a second config.
      if (accepted.kind === 'task') await planned.save(accepted.taskId, params.id || accepted.taskId);
      return accepted;
    },
    /** How the deliveries of a task stand; undefined without any. */
    metadataOf(taskId: string): JsonObject | undefined {
      const configs = push?.list(taskId) ?? [];
      return configs.length === 0 ? undefined : { [PUSH_METADATA]: configs.map(standing) };
    },
  };
}

function wantedPush(params: TaskPushNotificationConfig, version: PushVersion): WantedPush {
  const { url, token, authentication } = params;
  return { version, url, token: token || undefined, authentication };
}

function toWire({ id, taskId, url, token, authentication }: PushConfig): TaskPushNotificationConfig {
  return { tenant: '', id, taskId, url, token: token ?? '', authentication };
}

function standing({ id, state, failures, failingSince, detail }: PushConfig): JsonObject {
  return {
    id,
    state,
    failures,
    ...(failingSince === undefined ? {} : { failing_since: new Date(failingSince).toISOString() }),
    ...(detail === undefined ? {} : { detail }),
  };
}

export const pushNotSupported = (): FleetError =>
  new FleetError('PUSH_NOT_SUPPORTED', 'push notifications are not supported; use a stream or GetTask');
