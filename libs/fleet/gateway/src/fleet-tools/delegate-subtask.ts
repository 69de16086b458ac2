import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import {
  type AdmittedTask,
  type Log,
  type RunContext,
  type RunOutcome,
  type ToolCall,
  ToolError,
  type ToolResult,
  taskFields,
} from '@hermes-fleet/protocol/ports';
import { blockedOutcome } from '@hermes-fleet/tasks';
import { z } from 'zod';
import { requireCallerScope } from '../tool-support/require-scope.ts';
import { waitWithoutSlot } from '../tool-support/wait-without-slot.ts';
import { admittedSubtask, type SubtaskRequest, type SubtaskRunner, subtaskDispatch } from './subtask.ts';
import { type BudgetSlice, sliceOf, subtaskBudget } from './subtask-budget.ts';
import { subtaskResult } from './subtask-result.ts';

export interface SubtaskDelegationOptions {
  readonly profile: string;
  /** Called by each tool call, because the gateway is created after its agent. */
  readonly subtasks: () => SubtaskRunner;
  /** The profile may route subtasks itself; otherwise each one must name a peer. */
  readonly orchestrates: boolean;
  /** How many subtasks may be delegated at the same time. */
  readonly maxAtATime: number;
  readonly log: Log;
}

export type DelegateSubtask = (request: SubtaskRequest, call: ToolCall) => Promise<ToolResult>;

/**
 * Creates the function that delegates a subtask of a run to a peer, under the same handshake as any task: it is routed,
 * admitted there, bounded by a slice of the run's budget and by its deadline, and sent once, however often the run is
 * interrupted (docs/handshake.md#idempotency). The run waits without its slot, and the peer's tokens are booked. The result
 * says how the subtask ended; a ToolError says why it was not sent. Throws the reasons of the call's signals.
 */
export function createSubtaskDelegation(options: SubtaskDelegationOptions): DelegateSubtask {
  const { profile, subtasks, orchestrates, maxAtATime, log } = options;
  let delegated = 0;
  return async (request, call) => {
    const { task } = call;
    requireCallerScope(task.caller, 'dispatch');
    if (request.agent === 'auto' && !orchestrates)
      throw new ToolError(`${profile} does not look for peers: name one; fleet_peers lists them`);
    const resumed = loadSubtaskState(call.memo);
    if (!resumed && delegated >= maxAtATime)
      throw new ToolError(
        `${profile} has delegated ${delegated} pieces of work, the maximum: do it yourself`,
      );
    const slice = resumed ?? sliceOf(call.budget, request.tokenBudget);
    const dispatch = subtaskDispatch(task, request, slice.limit);
    const contextId = resumed?.context_id ?? subtasks().contextOf(task, dispatch);
    const subtask = admittedSubtask(task, call.key, contextId, dispatch);
    const fields = {
      ...taskFields(task),
      part: subtask.id,
      agent: request.agent,
      on_behalf_of: task.caller.name,
    };
    log.info(fields, resumed ? 'delegated work is resumed' : 'work is delegated to a peer');
    delegated += 1;
    try {
      const budget = subtaskBudget(call.budget, slice);
      const unmet = resumed ? [] : await subtasks().unmet(subtask.dispatch, task.caller);
      const outcome =
        unmet.length > 0 ? blockedOutcome(unmet) : await runSubtask(subtasks(), subtask, call, slice);
      call.signal.throwIfAborted();
      const tokens_spent = budget.spent();
      log.info({ ...fields, status: outcome.status, tokens_spent }, 'delegated work has ended');
      return subtaskResult(outcome, tokens_spent);
    } finally {
      delegated -= 1;
    }
  };
}

function runSubtask(
  runner: SubtaskRunner,
  subtask: AdmittedTask,
  call: ToolCall,
  slice: BudgetSlice,
): Promise<RunOutcome> {
  const { stopping } = call;
  const part = { part: subtask.id, part_context_id: subtask.contextId };
  // A shutdown ends the wait only: the peer continues, and the next start resumes the call.
  const signal = AbortSignal.any([call.signal, stopping]);
  return waitWithoutSlot(call, (ask) => {
    const context: RunContext = {
      signal,
      stopping,
      ask,
      budget: subtaskBudget(call.budget, slice),
      reportEvent: (event) =>
        call.reportEvent(event.type === 'text' ? event : { ...event, data: { ...event.data, ...part } }),
      park: (wait) => wait(),
      checkpoint: checkpointIn(call.memo, subtask.contextId, slice),
    };
    return runner.run(subtask, context);
  });
}

const SubtaskState = z.object({
  part: z.literal(1),
  /** The subtask's context. */
  context_id: z.string(),
  limit: z.number().optional(),
  before: z.number(),
  relay: z.custom<JsonObject>(isJsonObject),
});

/** Loads the slice and the relay's checkpoint of a call that an earlier process began; undefined for a new call. */
function loadSubtaskState(memo: ToolCall['memo']): z.output<typeof SubtaskState> | undefined {
  const saved = memo.load();
  return saved === undefined ? undefined : SubtaskState.parse(saved);
}

/** Keeps the relay's checkpoint in the call's memo. */
function checkpointIn(
  memo: ToolCall['memo'],
  context_id: string,
  { limit, before }: BudgetSlice,
): RunContext['checkpoint'] {
  const fixed = { part: 1, context_id, ...(limit === undefined ? {} : { limit }), before };
  return {
    load: () => loadSubtaskState(memo)?.relay,
    save: (relay) => memo.save({ ...fixed, relay }),
  };
}
