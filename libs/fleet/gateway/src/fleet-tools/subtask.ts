import type { RoutingDecision } from '@hermes-fleet/peers';
import { definedFields, FleetError, type JsonObject } from '@hermes-fleet/protocol';
import {
  decodeDispatch,
  type OnBlocked,
  type Priority,
  type ReplySchema,
  type TaskDispatch,
  type Unmet,
} from '@hermes-fleet/protocol/handshake';
import {
  type AdmittedTask,
  type Caller,
  type RunContext,
  type RunOutcome,
  ToolError,
} from '@hermes-fleet/protocol/ports';
import type { ContextDeletions } from '../contexts/context-deletions.ts';
import { callId } from '../tool-support/call-id.ts';

/** Runs subtasks of the profile's own agent at peers. The gateway provides it. */
export interface SubtaskRunner {
  /** Routes, sends and follows a subtask as the relay does with any task. */
  run(subtask: AdmittedTask, context: RunContext): Promise<RunOutcome>;
  /** The requirements that no peer could meet: scope, path and deadline. */
  unmet(dispatch: TaskDispatch, caller: Caller): Promise<readonly Unmet[]>;
  /** Routes a subtask without sending it. */
  route(dispatch: TaskDispatch): Promise<RoutingDecision>;
  /**
   * The context of a task's subtasks: one for each context and caller, so that related subtasks share a work tree at a peer,
   * and those of two callers never do. It differs from the task's own context, which stays locked while the task waits:
   * otherwise two tasks that delegate to each other would wait forever. Each hop has a new one, so no cycle can close. Subtasks in
   * the task's repository have one of their own, because a context belongs to one repository or to none.
   */
  contextOf(task: Pick<AdmittedTask, 'caller' | 'contextId'>, subtask: Pick<TaskDispatch, 'task'>): string;
  /** Deletes the context of a task's subtasks at a peer; undefined if none of its subtasks was sent there. */
  readonly discard: ContextDeletions['discardSubtasks'];
}

/** A subtask as the agent asks for it. */
export interface SubtaskRequest {
  /** A peer's name, or `auto`. */
  readonly agent: string;
  readonly brief: string;
  /** As on the wire. */
  readonly requirements?: JsonObject | undefined;
  readonly priority?: Priority | undefined;
  readonly replySchema?: ReplySchema | undefined;
  readonly outputSchema?: JsonObject | undefined;
  readonly write?: boolean | undefined;
  readonly fresh?: boolean | undefined;
  /** In the repository of the task, from its base. */
  readonly inRepository?: boolean | undefined;
  readonly onBlocked?: OnBlocked | undefined;
  readonly tokenBudget?: number | undefined;
}

/**
 * The contract of a subtask: the request, with the deadline, default priority, path and root of its task. Throws a
 * ToolError that names every invalid field, also for the repository of a task that has none.
 */
export function subtaskDispatch(
  task: AdmittedTask,
  request: SubtaskRequest,
  slice: number | undefined,
): TaskDispatch {
  const { dispatch } = task;
  const { taskId, rootId, path, priority, conversation, repository } = dispatch.task;
  if (request.inRepository === true && repository === undefined)
    throw new ToolError('in_repository: this task works in no repository that has a name; leave it out');
  const onBlocked = request.onBlocked ?? (request.agent === 'auto' ? undefined : 'fail');
  const wire: JsonObject = {
    type: 'TASK_DISPATCH',
    protocol_version: dispatch.protocolVersion,
    task: definedFields({
      task_id: taskId,
      priority: request.priority ?? priority ?? 'normal',
      reply_schema: request.replySchema ?? 'prose',
      token_budget: slice,
      output_schema: request.outputSchema,
      write: request.write,
      fresh: request.fresh,
      repository:
        request.inRepository === true && repository
          ? definedFields({ name: repository.name, base: repository.base })
          : undefined,
      conversation,
      root_id: rootId,
      path: path && [...path],
    }),
    ...definedFields({ requirements: request.requirements, deadline: dispatch.deadline }),
    brief: request.brief,
    routing: definedFields({ target: request.agent, on_blocked: onBlocked }),
  };
  try {
    return decodeDispatch(wire);
  } catch (thrown) {
    if (!(thrown instanceof FleetError)) throw thrown;
    throw new ToolError(thrown.fields.map(({ path: at, reason }) => `${at} ${reason}`).join('; '));
  }
}

/** The subtask as an admitted task, for the relay. */
export function admittedSubtask(
  task: AdmittedTask,
  key: string,
  contextId: string,
  dispatch: TaskDispatch,
): AdmittedTask {
  return { ...task, id: callId(task.id, key), contextId, dispatch };
}
