import type { NewTask } from '@hermes-fleet/ledger';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { type Caller, type TaskFields, traceField } from '@hermes-fleet/protocol/ports';
import { isSentOn } from './count-decision.ts';

const MAX_ID = 200;

/**
 * The fields of a task's events that say to which chain it belongs (docs/events.md#the-body); undefined for the first task
 * of a chain. `root_id` and the parent are what the dispatch says. Its `root_caller` is believed from a member of the fleet
 * only: another caller is the root caller itself. `key` is the caller's name for the task.
 */
export function lineageOf(
  dispatch: JsonObject,
  key: string,
  caller: Pick<Caller, 'name'>,
  isMember: (caller: string) => boolean,
): JsonObject | undefined {
  const task = isJsonObject(dispatch.task) ? dispatch.task : {};
  const parent = isJsonObject(task.parent) ? task.parent : {};
  const root_id = idIn(task.root_id) ?? key;
  const said = idIn(task.root_caller);
  const isChained = isSentOn(task) || root_id !== key;
  if (!isChained && said === undefined) return undefined;
  const root_caller = isMember(caller.name) ? (said ?? (isChained ? null : caller.name)) : caller.name;
  if (!isChained && root_caller === caller.name) return undefined;
  const [parent_task_id, parent_profile] = [idIn(parent.task_id), idIn(parent.profile)];
  return {
    root_id,
    root_caller,
    ...(parent_task_id === undefined ? {} : { parent_task_id }),
    ...(parent_profile === undefined ? {} : { parent_profile }),
  };
}

/** The caller of a task's root for its run, from its lineage: see `AdmittedTask.rootCaller`. */
export function rootCallerIn(lineage: JsonObject | undefined): { readonly rootCaller?: string | null } {
  if (lineage === undefined) return {};
  const { root_caller } = lineage;
  return { rootCaller: typeof root_caller === 'string' ? root_caller : null };
}

/** A dispatch of another major version is not checked. */
const idIn = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value.slice(0, MAX_ID) : undefined;

/** The fields of a log line about a task whose dispatch may not have been read yet; as `taskFields`, and the caller. */
export function recordFields(
  record: Pick<NewTask, 'id' | 'contextId' | 'caller' | 'key' | 'dispatch' | 'traceparent'>,
): TaskFields & { readonly context_id: string; readonly caller: string } {
  const { id, contextId, caller, key, dispatch } = record;
  const root = isJsonObject(dispatch.task) ? dispatch.task.root_id : undefined;
  return {
    task_id: id,
    dispatch_id: key,
    root_id: idIn(root) ?? key,
    context_id: contextId,
    caller,
    ...traceField(record),
  };
}
