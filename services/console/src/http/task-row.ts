import { iso, isoOrNull, type TaskRecord } from '../read-model/task-rows.ts';

/** A task as the list and its page show it: one that entered the fleet, with what its parts did. */
export const taskRow = (task: TaskRecord, cost: number | null) => ({
  /** The profile where it entered. */
  profile: task.profile,
  /** Its A2A task id there. */
  id: task.id,
  /** The caller's name for it. */
  task_id: task.taskId,
  context_id: task.contextId,
  caller: task.caller,
  state: task.state,
  /** The peer that works on it or did last; the profile itself for its own work; null before one is chosen. */
  peer: task.peer,
  /** The tool that runs now, or null. */
  tool: task.tool,
  priority: task.priority,
  spent_tokens: task.spentTokens,
  budget_tokens: task.budgetTokens,
  submitted_at: iso(task.submittedAt),
  started_at: isoOrNull(task.startedAt),
  ended_at: isoOrNull(task.endedAt),
  deadline: isoOrNull(task.deadlineAt),
  /** The kind of the first unmet requirement of a blocked task, or the error code. */
  reason: task.reason,
  reroutes: task.reroutes,
  cost,
});

export type TaskRow = ReturnType<typeof taskRow>;
