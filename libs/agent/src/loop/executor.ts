import {
  type AdmittedTask,
  type Clock,
  type ErrorCode,
  type Executor,
  FleetError,
  isWriteTask,
  type JsonObject,
  type Log,
  type RunContext,
  type RunOutcome,
  type Unmet,
} from '@hermes-fleet/protocol';
import type { Workspace, Workspaces } from '@hermes-fleet/workspace';
import { anchoredFiles } from '@hermes-fleet/workspace';
import type { AgentConfig } from '../config/config.ts';
import { isDeep } from '../guards/evidence.ts';
import { objectionsPrompt, repairPrompt, wrapUpPrompt } from '../messages/asks.ts';
import { readFinalMessage } from '../messages/final-message.ts';
import { lastText } from '../messages/history.ts';
import { readReply, replyContract, replyRequest } from '../messages/reply.ts';
import { taskMessage } from '../messages/task-message.ts';
import type { AgentModel } from '../model/create-model.ts';
import { systemPrompt } from '../prompt/system-prompt.ts';
import type { RunResources } from '../run/conversation.ts';
import type { GuardStop } from '../run/guard-state.ts';
import { checkpointWriter, newConversation, type RunState, readCheckpoint } from '../run/run-state.ts';
import type { Offer, Toolbox } from '../tools/toolbox.ts';
import { createLoopConversation } from './conversation.ts';
import { outcome, type RunEnd } from './outcome.ts';
import { review } from './review.ts';

export interface LoopOptions {
  readonly profile: string;
  readonly model: AgentModel;
  readonly limits: AgentConfig['limits'];
  readonly hooks: AgentConfig['hooks'];
  readonly workspaces: Workspaces;
  readonly toolbox: Toolbox;
  /** Whether commands run as another user than the gateway. */
  readonly otherUser: boolean;
  readonly clock: Clock;
  readonly log: Log;
  readonly onGuard?: ((guard: string, level: string) => void) | undefined;
  /** Called after each call that the provider metered: its figure of the input over our estimate. */
  readonly onTokenDrift?: ((ratio: number) => void) | undefined;
  readonly peersSummary?: (() => string) | undefined;
  /** The text of IDENTITY.md. */
  readonly identity?: string | undefined;
  /** Leads the run's own conversation in place of the loop, e.g. Claude Code. */
  readonly main?: typeof createLoopConversation | undefined;
  /** The name that its model knows a tool by, where that is another one. */
  readonly nameOf?: ((tool: string) => string) | undefined;
}

/**
 * The `loop` executor: the model's steps with our own loop around them (design 3). Every step and every tool call is
 * checkpointed, so a run goes on after a crash. A deadline or a cancel ends it with what there is to show; any other
 * abort throws the signal's reason once all is settled and the work is safe. A tree that a task cannot start in blocks it.
 */
export function createLoopExecutor(o: LoopOptions): Executor {
  return {
    model: o.model.info,
    async run(task, context) {
      const saved = context.checkpoint.load();
      const { signal, stopping } = context;
      using workspace = await o.workspaces.open(task.contextId, {
        resumes: saved !== undefined,
        signal: AbortSignal.any([signal, stopping]),
      });
      const state = saved ? await goOn(saved, workspace) : await fresh(task, workspace);
      if ('refused' in state) return refusal(state.refused);
      const offer = await o.toolbox.offer(task, context.budget.limit, AbortSignal.any([signal, stopping]));
      const instructions = state.instructions ?? (await instructionsOf(o, task, context, workspace, offer));
      state.instructions = instructions;
      const run = start(o, task, context, workspace, state, offer.tools, instructions);
      try {
        const end = await run.toEnd();
        const uncommitted = await workspace.commit(commitMessage(task));
        const result = await run.outcome(end);
        const isLeft = uncommitted?.certain || result.artifacts.filesChanged.length > 0;
        if (uncommitted === undefined || !isLeft) return result;
        return { ...result, nextSteps: [...result.nextSteps, uncommitted.todo] };
      } catch (error) {
        const keep = goesOnLater(context, error) ? workspace.leave : workspace.commit;
        await keep(commitMessage(task)).catch((cause) => {
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

function start(
  o: LoopOptions,
  task: AdmittedTask,
  context: RunContext,
  workspace: Workspace,
  state: RunState,
  tools: Offer['tools'],
  instructions: string,
): Run {
  const { signal, stopping, budget, report } = context;
  const { brief } = task.dispatch;
  const { priority = 'normal' } = task.dispatch.task;
  const contract = replyContract(task);
  const write = checkpointWriter();
  const save = async (): Promise<void> => context.checkpoint.save(write(state), 'messages');
  const files = anchoredFiles(workspace.dir, o.otherUser);
  const parts: RunResources = {
    ...o,
    task,
    workspace,
    files,
    budget,
    signal,
    stopping,
    report,
    park: context.park,
    ask: context.ask,
  };
  const main = (o.main ?? createLoopConversation)(
    {
      state,
      save,
      key: '',
      instructions,
      tools,
      maxSteps: o.limits.max_steps,
      keepTokens: 0,
      wrapUpPrompt: wrapUpPrompt,
      progressFields: {},
      streamsText: true,
    },
    parts,
  );

  /** The model says that it is done: whether there is something left to ask of it. What is asked is durable. */
  async function goesOn(): Promise<boolean> {
    const message = readFinalMessage(lastText(state.messages));
    if (message.claim !== 'unreadable' && message.claim.status !== 'done') return false;
    if (state.wrapped_up && !message.stated) return false;
    const verify = main.guards.atEnd({ priority, reply: contract.kind, told: state.nudges });
    if (verify !== undefined && !state.wrapped_up && (await main.canAfford(2, verify))) {
      main.followUp(verify, 'on');
      state.nudges += 1;
      await save();
      o.onGuard?.('verify', 'warn');
      return true;
    }
    const objections = isDeep(priority) ? await review({ state, brief, tools, parts, main, save }) : [];
    if (objections.length > 0) {
      main.followUp(objectionsPrompt(objections), 'on');
      await save();
      o.onGuard?.('review', 'warn');
      return true;
    }
    const { problems } = readReply(message, contract);
    const repair = repairPrompt(problems, replyRequest(contract));
    if (problems.length === 0 || state.repaired || !(await main.canAfford(1, repair))) return false;
    main.followUp(repair, 'off');
    state.repaired = true;
    await save();
    o.onGuard?.('reply', 'warn');
    return true;
  }

  async function toEnd(): Promise<RunEnd> {
    try {
      do {
        if (!(await main.runToEnd())) return endedBy(main.guardStop(), state.step, o);
      } while (await goesOn());
      return { kind: 'finished', finishReason: state.finished ?? 'other' };
    } catch (thrown) {
      const error: unknown = signal.aborted ? signal.reason : thrown;
      const stopped = stoppedBy(error, state.step);
      if (stopped === undefined) throw error;
      const guard = GUARDS[stopped.code];
      if (guard !== undefined) o.onGuard?.(guard, 'stop');
      o.log.warn({ task_id: task.id, code: stopped.code, err: error }, 'a run was stopped');
      return stopped;
    } finally {
      await main.close?.();
    }
  }

  return {
    toEnd,
    outcome: async (end) =>
      outcome({
        end,
        message: lastText(state.messages),
        contract,
        state,
        canRun: tools.some(({ name }) => name === 'shell_exec'),
        verifies: o.hooks.verifyBeforeComplete,
        filesChanged: await workspace.changedSince(state.base),
      }),
  };
}

/** Made once per run: the same after a restart, whatever has changed since. */
async function instructionsOf(
  o: LoopOptions,
  task: AdmittedTask,
  { budget, signal, stopping }: RunContext,
  workspace: Workspace,
  offer: Offer,
): Promise<string> {
  return systemPrompt({
    profile: o.profile,
    identity: o.identity,
    clock: o.clock,
    log: o.log,
    task,
    workspace,
    budget,
    peers: o.peersSummary?.(),
    offer: renamed(offer, o.nameOf),
    files: anchoredFiles(workspace.dir, o.otherUser),
    verify: o.hooks.verifyBeforeComplete,
    signal: AbortSignal.any([signal, stopping]),
  });
}

const renamed = (offer: Offer, nameOf: LoopOptions['nameOf'] = (name) => name): Offer => ({
  ...offer,
  tools: offer.tools.map((tool) => ({ ...tool, name: nameOf(tool.name) })),
});

async function fresh(
  { dispatch }: AdmittedTask,
  workspace: Workspace,
): Promise<RunState | { readonly refused: Unmet }> {
  const begun = await workspace.begin(isWriteTask(dispatch));
  if ('refused' in begun) return begun;
  return { ...newConversation(taskMessage(dispatch.brief)), version: 1, base: begun.base, nudges: 0 };
}

async function goOn(saved: JsonObject, workspace: Workspace): Promise<RunState> {
  const state = readCheckpoint(saved);
  await workspace.resume(state.base);
  return state;
}

const refusal = (unmet: Unmet): RunOutcome => ({
  status: 'blocked',
  blockedReason: unmet.detail,
  unmet: [unmet],
  nextSteps: [],
  artifacts: { pr: null, filesChanged: [] },
});

/** Whether the profile stops, and its next start takes the run up again. */
function goesOnLater({ signal, stopping }: RunContext, error: unknown): boolean {
  if (!signal.aborted) return stopping.aborted && error === stopping.reason;
  return signal.reason instanceof FleetError && signal.reason.code === 'SHUTTING_DOWN';
}

/** The guard that ended it, else the limit of steps. */
function endedBy(stop: GuardStop | undefined, step: number, o: LoopOptions): RunEnd {
  if (stop !== undefined) {
    const reason = `the ${stop.guard} guard ended the run after step ${step}: ${stop.reason}`;
    return { kind: 'stopped', code: 'in_circles', reason, retryable: false, partial: true };
  }
  o.onGuard?.('steps', 'stop');
  const reason = `the limit of ${o.limits.max_steps} steps is reached`;
  return { kind: 'stopped', code: 'step_limit', reason, retryable: false };
}

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
