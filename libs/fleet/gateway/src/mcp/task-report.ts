import { isTerminal, type Ledger, type TaskRecord } from '@hermes-fleet/ledger';
import { FleetError, type JsonObject, TaskState } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { type CostOptions, costView } from '../http/cost-view.ts';
import { listArtifacts } from './artifact-resources.ts';

export interface TaskReportOptions extends CostOptions {
  readonly ledger: Pick<Ledger, 'tokens' | 'get' | 'questions' | 'lateResult' | 'artifacts'>;
}

/** A task as the tools return it. */
export const TaskReport = z.looseObject({
  id: z.string().describe('Names the task in the other tools'),
  task_id: z.string().describe("The caller's name for the task"),
  context_id: z.string().describe('Names the work tree and the conversation, to continue in them'),
  state: TaskState,
  updated_at: z.string(),
  tokens_spent: z.int(),
  token_budget: z.int().nullable(),
  question: z
    .strictObject({ number: z.int(), text: z.string() })
    .optional()
    .describe('What the task asks; it waits for fleet_answer'),
  result: z
    .looseObject({ status: z.string() })
    .optional()
    .describe('The TASK_RESULT, once the task has ended: status, text or output, files changed'),
  artifacts: z
    .array(z.looseObject({ id: z.string(), name: z.string(), uri: z.string() }))
    .optional()
    .describe('What the task added beside its result; read each as the resource of its uri'),
  late_result: z.looseObject({}).optional().describe('A result that came after the end of the task'),
  next: z.string().describe('What to do now'),
});

export const TaskList = z.looseObject({
  tasks: z.array(
    z.looseObject({
      id: z.string(),
      task_id: z.string(),
      context_id: z.string(),
      state: TaskState,
      updated_at: z.string(),
      brief: z.string().describe('The beginning of it'),
    }),
  ),
  total: z.int(),
  next_page_token: z.string().describe('Empty on the last page'),
});

export const TaskStates = z.array(TaskState).min(1).max(TaskState.options.length);

const MAX_LISTED_BRIEF = 200;

/** The caller's own task. Throws TASK_NOT_FOUND for an unknown one, and for another caller's in the same words. */
export function ownTask(ledger: Pick<Ledger, 'get'>, id: string, caller: string): TaskRecord {
  const task = ledger.get(id);
  if (!task || task.caller !== caller)
    throw new FleetError(
      'TASK_NOT_FOUND',
      `task ${id.slice(0, 100)} is not known; fleet_tasks lists your tasks`,
    );
  return task;
}

/** What a model needs to know of a task, and how it goes on. */
export function taskReport(task: TaskRecord, options: TaskReportOptions): JsonObject {
  const { ledger } = options;
  const cost = costView(task, options);
  const questions = task.state === 'input_required' ? ledger.questions(task.id) : [];
  const asked = questions.at(-1);
  const artifacts = listArtifacts(ledger, task.id);
  const late = isTerminal(task.state) ? ledger.lateResult(task.id) : undefined;
  return {
    id: task.id,
    task_id: task.key,
    context_id: task.contextId,
    state: task.state,
    updated_at: new Date(task.updatedAt).toISOString(),
    tokens_spent: cost.tokens_spent,
    token_budget: cost.budget?.token_budget ?? null,
    ...(asked && { question: { number: questions.length, text: asked.text } }),
    ...(task.result && { result: task.result }),
    ...(artifacts.length > 0 && { artifacts }),
    ...(late && { late_result: late }),
    next: nextStep(task, questions.length),
  };
}

function nextStep({ id, state, result }: TaskRecord, question: number): string {
  switch (state) {
    case 'input_required':
      return `The task waits for an answer to its question. Answer it with fleet_answer {"id":"${id}","question":${question},"text":"…"}; if you do not know the answer, ask your user.`;
    case 'completed':
      return result?.status === 'partial'
        ? 'The task has ended with a part of the work; result.remaining says what is left.'
        : 'The task has ended; its result is in result.';
    case 'rejected':
      return 'No worker took the task, and it cost nothing; result.blocked_reason says what is missing. fleet_route shows every peer and why.';
    case 'failed':
      return 'The task has failed; result.error says why.';
    case 'canceled':
      return 'The task was canceled.';
    case 'submitted':
    case 'queued':
    case 'working':
      return `The task goes on. Wait for it with fleet_task {"id":"${id}"}, or cancel it with fleet_cancel.`;
  }
}

/** One line of a list of tasks. */
export function taskLine({ id, key, contextId, state, updatedAt, dispatch }: TaskRecord): JsonObject {
  const brief = typeof dispatch.brief === 'string' ? dispatch.brief : '';
  return {
    id,
    task_id: key,
    context_id: contextId,
    state,
    updated_at: new Date(updatedAt).toISOString(),
    brief: brief.length > MAX_LISTED_BRIEF ? `${brief.slice(0, MAX_LISTED_BRIEF)}…` : brief,
  };
}
