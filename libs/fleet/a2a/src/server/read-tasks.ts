import { type ListTasksRequest, type ListTasksResponse, TaskState } from '@a2a-js/sdk';
import { isTerminal, type Ledger, type TaskRecord } from '@hermes-fleet/ledger';
import { FleetError } from '@hermes-fleet/protocol';
import type { Caller, InboundMessage } from '@hermes-fleet/protocol/ports';
import { ledgerStates } from '../wire/task-state.ts';
import { type TaskViewOptions, taskView } from '../wire/task-view.ts';

const DEFAULT_PAGE_SIZE = 50;
/** The content of artifacts in one page of a list. */
const MAX_PAGE_BYTES = 2 * 1024 * 1024;

/** Throws TASK_NOT_FOUND for an unknown id. */
export function requireTask(ledger: Ledger, id: string): TaskRecord {
  const record = ledger.get(id);
  if (record === undefined) throw taskNotFound(id);
  return record;
}

export function taskNotFound(id: string): FleetError {
  return new FleetError('TASK_NOT_FOUND', `task ${id.slice(0, 100)} is not known here`);
}

/**
 * Throws CONTEXT_MISMATCH or UNSUPPORTED_OPERATION unless the task accepts a further message: it has not ended, and the
 * message names its context or none. A copy of an earlier answer is accepted even after the task has ended.
 */
export function continuable(
  ledger: Ledger,
  record: TaskRecord,
  { contextId, messageId }: Pick<InboundMessage, 'contextId' | 'messageId'>,
): TaskRecord {
  if (contextId !== undefined && contextId !== record.contextId) {
    const reason = 'is not the context of the task that the message names';
    throw new FleetError('CONTEXT_MISMATCH', `message.contextId ${reason}`, {
      fields: [{ path: 'message.contextId', reason }],
    });
  }
  const isCopy = (): boolean =>
    ledger.questions(record.id).some((one) => one.answer?.messageId === messageId);
  if (isTerminal(record.state) && !isCopy()) {
    throw new FleetError('UNSUPPORTED_OPERATION', 'the task has ended; send the message without its task id');
  }
  return record;
}

/** One page of the caller's own tasks, latest change first. Throws INVALID_PARAMS for an invalid page token. */
export function listTasks(
  ledger: Ledger,
  caller: Caller,
  params: ListTasksRequest,
  ownOf: (record: TaskRecord) => Pick<TaskViewOptions, 'own' | 'ownFirst'>,
): ListTasksResponse {
  const pageSize = params.pageSize ?? DEFAULT_PAGE_SIZE;
  const states = params.status === TaskState.TASK_STATE_UNSPECIFIED ? undefined : ledgerStates(params.status);
  if (states?.length === 0) return { tasks: [], nextPageToken: '', pageSize, totalSize: 0 };
  const { statusTimestampAfter: after } = params;
  const query = {
    caller: caller.name,
    ...(params.contextId === '' ? {} : { contextId: params.contextId }),
    ...(states === undefined ? {} : { states }),
    ...(after === undefined ? {} : { updatedAfter: Date.parse(after) }),
    pageToken: params.pageToken,
  };
  const artifacts = params.includeArtifacts ?? false;
  const whole = ledger.list({ ...query, pageSize });
  const fitting = artifacts ? fittingTasks(ledger, whole.tasks) : whole.tasks.length;
  const page = fitting === whole.tasks.length ? whole : ledger.list({ ...query, pageSize: fitting });
  // A page of a hundred briefs could be a hundred times the body limit: history is shown only on request.
  const historyLength = params.historyLength ?? 0;
  const tasks = page.tasks.map((record) => {
    const isNeeded = historyLength > 0 || record.state === 'input_required';
    const questions = isNeeded ? ledger.questions(record.id) : [];
    const own = artifacts ? ownOf(record) : {};
    return taskView(record, [], { ...own, historyLength, artifacts, questions });
  });
  return { tasks, nextPageToken: page.nextPageToken, pageSize, totalSize: page.totalSize };
}

/** How many of the tasks fit into one page with their artifacts, at least one: a page may be shorter than was asked. */
function fittingTasks(ledger: Ledger, tasks: readonly TaskRecord[]): number {
  let bytes = 0;
  const over = tasks.findIndex(({ id }) => {
    bytes += ledger.inlineArtifactBytes(id);
    return bytes > MAX_PAGE_BYTES;
  });
  return over === -1 ? tasks.length : Math.max(1, over);
}
