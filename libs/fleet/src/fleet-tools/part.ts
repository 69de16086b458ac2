import { createHash } from 'node:crypto';
import {
  type AdmittedTask,
  decodeDispatch,
  FleetError,
  type JsonObject,
  type OnBlocked,
  type Priority,
  type ReplySchema,
  type TaskDispatch,
  ToolError,
} from '@hermes-fleet/protocol';

/** What a run asks of a peer. */
export interface Ask {
  /** A peer's name, or `auto`. */
  readonly agent: string;
  readonly brief: string;
  /** As on the wire. */
  readonly requirements?: JsonObject | undefined;
  readonly priority?: Priority | undefined;
  readonly replySchema?: ReplySchema | undefined;
  readonly outputSchema?: JsonObject | undefined;
  readonly write?: boolean | undefined;
  readonly onBlocked?: OnBlocked | undefined;
}

const MAX_ID = 200;

/**
 * The name of a part of a task, made of the call that hands it out: the same after a restart, so that the peer knows it
 * again (design 2, Idempotency).
 */
export function partId(taskId: string, key: string): string {
  const id = `${taskId}/${key}`;
  return id.length > MAX_ID ? `part-${digest(id)}` : id;
}

/**
 * The context of parts: one for each context and profile, so that parts of one context meet each other's work at a peer.
 * It differs from the context of the task, which waits for the part and keeps its own: two tasks that hand out parts
 * crosswise would wait for each other for ever. Each hop's is longer than the one before, so that no circle closes.
 */
export function partContext(contextId: string, profile: string): string {
  const id = `${contextId}/${profile}`;
  return id.length > MAX_ID ? `part-${digest(id)}` : id;
}

/**
 * The contract of a part: what was asked, under the deadline, the priority, the path and the root of the task that it is
 * a part of. Throws a ToolError that names every wrong field.
 */
export function partDispatch(task: AdmittedTask, ask: Ask, slice: number | undefined): TaskDispatch {
  const { dispatch } = task;
  const { taskId, rootId, path, priority } = dispatch.task;
  const isOpen = ask.agent === 'auto';
  const wire: JsonObject = {
    type: 'TASK_DISPATCH',
    protocol_version: dispatch.protocolVersion,
    task: {
      task_id: taskId,
      priority: ask.priority ?? priority ?? 'normal',
      reply_schema: ask.replySchema ?? 'prose',
      ...(slice === undefined ? {} : { token_budget: slice }),
      ...(ask.outputSchema === undefined ? {} : { output_schema: ask.outputSchema }),
      ...(ask.write === undefined ? {} : { write: ask.write }),
      ...(rootId === undefined ? {} : { root_id: rootId }),
      ...(path === undefined ? {} : { path: [...path] }),
    },
    ...(ask.requirements === undefined ? {} : { requirements: ask.requirements }),
    ...(dispatch.deadline === undefined ? {} : { deadline: dispatch.deadline }),
    brief: ask.brief,
    routing: {
      target: ask.agent,
      ...(ask.onBlocked === undefined
        ? isOpen
          ? {}
          : { on_blocked: 'fail' }
        : { on_blocked: ask.onBlocked }),
    },
  };
  try {
    return decodeDispatch(wire);
  } catch (thrown) {
    if (!(thrown instanceof FleetError)) throw thrown;
    throw new ToolError(thrown.fields.map(({ path: at, reason }) => `${at} ${reason}`).join('; '));
  }
}

/** A part as the relay takes it. */
export function partTask(
  task: AdmittedTask,
  key: string,
  profile: string,
  dispatch: TaskDispatch,
): AdmittedTask {
  return {
    ...task,
    id: partId(task.id, key),
    contextId: partContext(task.contextId, profile),
    dispatch,
  };
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32);
