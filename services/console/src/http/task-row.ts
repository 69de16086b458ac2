import { iso, isoOrNull, type TaskRecord } from '../read-model/task-rows.ts';
import type { TaskRow } from './api.ts';

/** A task as the list and its page show it. */
export function taskRow(task: TaskRecord, cost: number | null): TaskRow {
  return {
    profile: task.profile,
    id: task.id,
    task_id: task.taskId,
    context_id: task.contextId,
    caller: task.caller,
    state: task.state,
    peer: task.peer,
    tool: task.tool,
    priority: task.priority,
    spent_tokens: task.spentTokens,
    budget_tokens: task.budgetTokens,
    submitted_at: iso(task.submittedAt),
    started_at: isoOrNull(task.startedAt),
    ended_at: isoOrNull(task.endedAt),
    deadline: isoOrNull(task.deadlineAt),
    reason: task.reason,
    reroutes: task.reroutes,
    cost,
  };
}
