import {
  type AdmittedTask,
  type Clock,
  type ErrorCode,
  type Executor,
  FleetError,
  type Log,
  type RunContext,
  type RunOutcome,
} from '@hermes-fleet/protocol';
import type { ModelMessage } from 'ai';
import type { AgentConfig } from '../config.ts';
import type { AgentModel } from '../model/create-model.ts';
import { anchoredFiles } from '../tools/anchored-path.ts';
import { type AgentTool, failure, type ToolResult } from '../tools/tool.ts';
import { toolDefinitions } from '../tools/tool-set.ts';
import type { Workspace, Workspaces } from '../workspace/workspaces.ts';
import {
  createEstimator,
  lastText,
  type PendingCall,
  pendingCalls,
  type RunState,
  readCheckpoint,
  toolMessage,
  writeCheckpoint,
} from './conversation.ts';
import { modelStep } from './model-step.ts';
import { outcome, type RunEnd } from './outcome.ts';
import { OUTCOME_UNKNOWN, replySchema, systemPrompt, taskMessage } from './prompt.ts';
import { createTextReporter } from './text-reporter.ts';

export interface LoopOptions {
  readonly profile: string;
  readonly model: AgentModel;
  readonly limits: AgentConfig['limits'];
  readonly workspaces: Workspaces;
  /** None for a model that only answers. */
  readonly tools: readonly AgentTool[];
  /** Whether commands run as another user than the gateway. */
  readonly otherUser: boolean;
  readonly clock: Clock;
  readonly log: Log;
  readonly onGuard?: ((guard: string, level: string) => void) | undefined;
  readonly peersSummary?: (() => string) | undefined;
}

/**
 * The `loop` executor: the model's steps with our own loop around them (design 3). Every step and every tool call is
 * checkpointed, so a run goes on after a crash. A deadline or a cancel ends it with what there is to show; any other
 * abort throws the signal's reason once all is settled and committed.
 */
export function createLoopExecutor(o: LoopOptions): Executor {
  return {
    model: o.model.info,
    async run(task, context) {
      const workspace = await o.workspaces.open(task.contextId);
      const run = await start(o, task, context, workspace);
      try {
        const end = await run.toEnd();
        await workspace.commit(commitMessage(task));
        return await run.outcome(end);
      } catch (error) {
        await workspace.commit(commitMessage(task)).catch((cause) => {
          o.log.error(
            { task_id: task.id, err: cause },
            'the work of an interrupted task could not be committed',
          );
        });
        context.signal.throwIfAborted();
        throw error;
      }
    },
  };
}

const commitMessage = (task: AdmittedTask): string =>
  `Task ${task.dispatch.task.taskId.replace(/\s+/g, ' ')}`;

interface Run {
  toEnd(): Promise<RunEnd>;
  outcome(end: RunEnd): Promise<RunOutcome>;
}

async function start(
  o: LoopOptions,
  task: AdmittedTask,
  context: RunContext,
  workspace: Workspace,
): Promise<Run> {
  const tools = new Map(o.tools.map((tool) => [tool.name, tool]));
  const definitions = toolDefinitions(o.tools);
  const { signal, stopping, budget } = context;
  const files = anchoredFiles(workspace.dir, o.otherUser);
  const saved = context.checkpoint.load();
  const state: RunState = saved ? readCheckpoint(saved) : await fresh(task, workspace);
  const estimate = createEstimator();
  const instructions = systemPrompt({
    profile: o.profile,
    task,
    tools: [...tools.keys()],
    branch: workspace.branch,
    remainingTokens: budget.remaining(),
    peers: o.peersSummary?.(),
  });
  const save = (): Promise<void> => context.checkpoint.save(writeCheckpoint(state));

  async function progress(data: { tool?: string; ok?: boolean }): Promise<void> {
    const spent = { spent_tokens: budget.spent(), budget_tokens: budget.limit ?? null };
    await context.report({ type: 'progress', data: { step: state.step, ...data, ...spent } });
  }

  async function answer(call: PendingCall, result: ToolResult): Promise<void> {
    state.messages.push(toolMessage(call, result));
    const exitCode = result.exitCode === undefined ? {} : { exit_code: result.exitCode };
    const detail = result.detail === undefined ? {} : { detail: result.detail };
    state.journal.push({ tool: call.tool, ok: result.ok, ...detail, ...exitCode });
    await save();
    await progress({ tool: tools.has(call.tool) ? call.tool : 'unknown', ok: result.ok });
  }

  async function execute(call: PendingCall): Promise<ToolResult> {
    const tool = tools.get(call.tool);
    if (tool === undefined)
      return failure(`there is no tool ${call.tool}; there are ${[...tools.keys()].join(', ')}`);
    try {
      return await tool.run(call.input, { workspace, files, signal });
    } catch (error) {
      signal.throwIfAborted();
      o.log.error({ task_id: task.id, tool: call.tool, err: error }, 'a tool failed unexpectedly');
      return failure('the tool failed for a reason of its own; try another way');
    }
  }

  /** Where nothing is under way: the process may stop here, and the next start go on as if it had not. */
  async function checkpoint(): Promise<void> {
    if (!stopping.aborted) return;
    state.paused = true;
    await save();
    throw stopping.reason;
  }

  async function carryOut(): Promise<void> {
    for (const call of pendingCalls(state.messages)) {
      await checkpoint();
      await answer(call, await execute(call));
    }
  }

  /** After a restart that was no pause: the first call may have run, those behind it have not. */
  async function takeUp(): Promise<void> {
    if (state.paused) {
      state.paused = undefined;
      await save();
      return carryOut();
    }
    const [first, ...rest] = pendingCalls(state.messages);
    if (first === undefined) return;
    const again = tools.get(first.tool)?.mutates === false;
    await answer(
      first,
      again ? await execute(first) : failure(`${OUTCOME_UNKNOWN}: check before repeating it`),
    );
    for (const call of rest) await answer(call, failure('not run: the gateway was restarted before it'));
  }

  async function step(): Promise<void> {
    const inputTokens = await estimate(`${instructions}${definitions.json}`, state.messages);
    const reporter = createTextReporter(context.report, o.clock);
    try {
      const { messages, finishReason } = await modelStep({
        model: o.model,
        budget,
        instructions,
        messages: state.messages,
        tools: definitions.set,
        inputTokens,
        maxOutputTokens: o.limits.max_output_tokens,
        signal,
        onText: reporter.push,
      });
      state.messages.push(...messages);
      state.step += 1;
      if (endsRun(messages)) state.finished = finishReason;
      await save();
    } finally {
      await reporter.finish();
    }
  }

  async function toEnd(): Promise<RunEnd> {
    try {
      await takeUp();
      while (state.finished === undefined && state.step < o.limits.max_steps) {
        signal.throwIfAborted();
        await checkpoint();
        await step();
        await progress({});
        await carryOut();
      }
      if (state.finished !== undefined) return { kind: 'finished', finishReason: state.finished };
    } catch (thrown) {
      const error: unknown = signal.aborted ? signal.reason : thrown;
      const stopped = stoppedBy(error, state.step);
      if (stopped === undefined) throw error;
      const guard = GUARDS[stopped.code];
      if (guard !== undefined) o.onGuard?.(guard, 'stop');
      o.log.warn({ task_id: task.id, code: stopped.code, err: error }, 'a run was stopped');
      return stopped;
    }
    o.onGuard?.('steps', 'stop');
    const reason = `the limit of ${o.limits.max_steps} steps is reached`;
    return { kind: 'stopped', code: 'step_limit', reason, retryable: false };
  }

  return {
    toEnd,
    outcome: async (end) =>
      outcome({
        end,
        message: lastText(state.messages),
        reply: replySchema(task),
        journal: state.journal,
        filesChanged: await workspace.changedSince(state.base),
      }),
  };
}

async function fresh(task: AdmittedTask, workspace: Workspace): Promise<RunState> {
  await workspace.commit('What an earlier task left behind');
  return {
    version: 1,
    base: await workspace.head(),
    step: 0,
    messages: [{ role: 'user', content: taskMessage(task.dispatch.brief) }],
    journal: [],
  };
}

/** Whether a step's messages leave nothing to do: no call to carry out, and no refused one to be told of. */
const endsRun = (messages: readonly ModelMessage[]): boolean =>
  pendingCalls(messages).length === 0 && messages.at(-1)?.role !== 'tool';

/** What ends a run that keeps its work: its budget, its model, its deadline, its caller. */
const STOPS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'BUDGET_EXHAUSTED',
  'MODEL_FAILED',
  'DEADLINE_EXCEEDED',
  'CANCELED',
]);

const GUARDS: Readonly<Record<string, string>> = {
  budget_exhausted: 'budget',
  model_failed: 'model',
  deadline_exceeded: 'deadline',
};

function stoppedBy(error: unknown, step: number): Extract<RunEnd, { kind: 'stopped' }> | undefined {
  if (!(error instanceof FleetError) || !STOPS.has(error.code)) return undefined;
  const reason = `stopped after step ${step}: ${error.message}`;
  return { kind: 'stopped', code: error.code.toLowerCase(), reason, retryable: error.retryable };
}
