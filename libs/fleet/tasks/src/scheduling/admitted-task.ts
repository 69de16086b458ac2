import type { NewTask } from '@hermes-fleet/ledger';
import type { TaskDispatch } from '@hermes-fleet/protocol/handshake';
import { type AdmittedTask, type Caller, contentParts } from '@hermes-fleet/protocol/ports';
import { rootCallerIn } from '../running/lineage.ts';

/** A task that passed admission, for its run. A task that no process has run before has no resumes. */
export function admittedTask(
  record: Pick<NewTask, 'id' | 'contextId' | 'traceparent' | 'message' | 'lineage'> & {
    readonly resumes?: number;
  },
  dispatch: TaskDispatch,
  caller: Caller,
): AdmittedTask {
  const deadlineAt = dispatch.deadline === undefined ? undefined : Date.parse(dispatch.deadline);
  return {
    id: record.id,
    contextId: record.contextId,
    caller,
    dispatch,
    parts: contentParts(record.message),
    deadlineAt,
    resumes: record.resumes ?? 0,
    ...(record.traceparent === undefined ? {} : { traceparent: record.traceparent }),
    ...rootCallerIn(record.lineage),
  };
}
