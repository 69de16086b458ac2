import type { JsonObject, JsonValue } from '@hermes-fleet/protocol';
import {
  isWriteTask,
  type Reading,
  requirementsEvent,
  type TaskDispatch,
} from '@hermes-fleet/protocol/handshake';
import { short } from '../running/write-ending.ts';

const MAX_NAMES = 20;

/**
 * The data of a task's event `submitted` (docs/events.md#the-events): what its contract asks for, and never its brief.
 * Nothing for a dispatch of a version that this profile does not read.
 */
export function submittedData(reading: Reading): JsonObject {
  if (reading.kind === 'foreign') return {};
  const { task, requirements, deadline = null, routing } = reading.dispatch;
  return bounded({
    priority: task.priority ?? 'normal',
    budget_tokens: task.tokenBudget ?? null,
    deadline,
    write: isWriteTask(reading.dispatch),
    target: routing?.target ?? null,
    repository: repositoryData(task.repository),
    ...requirementsEvent(requirements),
    reply_schema: task.replySchema ?? null,
    on_blocked: routing?.onBlocked ?? null,
  });
}

/** Without the token, which opens the bundle. */
const repositoryData = (repository: TaskDispatch['task']['repository']): JsonValue => {
  if (repository === undefined) return null;
  const { name = null, bundle = null, base = null } = repository;
  return { name, ...(bundle !== null && { bundle }), base };
};

const bounded = (data: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(data).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.slice(0, MAX_NAMES).map(cut) : cut(value),
    ]),
  );

const cut = (value: JsonValue): JsonValue => (typeof value === 'string' ? short(value) : value);
