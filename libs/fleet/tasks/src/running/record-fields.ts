import type { NewTask } from '@hermes-fleet/ledger';
import { isJsonObject } from '@hermes-fleet/protocol';
import { type TaskFields, traceField } from '@hermes-fleet/protocol/ports';

const MAX_ID = 200;

/** The fields of a log line about a task whose dispatch may not have been read yet; as `taskFields`, and the caller. */
export function recordFields(
  record: Pick<NewTask, 'id' | 'contextId' | 'caller' | 'key' | 'dispatch' | 'traceparent'>,
): TaskFields & { readonly context_id: string; readonly caller: string } {
  const { id, contextId, caller, key, dispatch } = record;
  const root = isJsonObject(dispatch.task) ? dispatch.task.root_id : undefined;
  return {
    task_id: id,
    dispatch_id: key,
    root_id: typeof root === 'string' && root !== '' ? root.slice(0, MAX_ID) : key,
    context_id: contextId,
    caller,
    ...traceField(record),
  };
}
