import type { Unmet } from '@hermes-fleet/protocol/handshake';
import {
  type AdmittedTask,
  type BundleSource,
  type Clock,
  type Executor,
  type RunContext,
  type RunOutcome,
  taskFields,
} from '@hermes-fleet/protocol/ports';
import { type Workspace, WorkspaceRefused, type Workspaces } from '@hermes-fleet/workspace';
import type { AgentConfig } from '../config/config-yaml.ts';
import { isDeep } from '../guards/evidence.ts';
import type { FileLimits } from '../inbox/read-files.ts';
import { readFinalMessage } from '../messages/final-message.ts';
import { endingPrompt, objectionsPrompt, repairPrompt, wrapUpPrompt } from '../messages/follow-up-prompts.ts';
import { lastText } from '../messages/history.ts';
import { readReply, replyContract, replyRequest } from '../messages/reply.ts';
import type { AgentModel } from '../model/create-model.ts';
import { attachedText, byLength } from '../prompt/attached.ts';
import { systemPrompt } from '../prompt/system-prompt.ts';
import type { Observation, RunResources } from '../run/conversation.ts';
import type { ConversationLead } from '../run/executor-provider.ts';
import { checkpointWriter, type RunState } from '../run/run-state.ts';
import { openTraced } from '../run/spans.ts';
import { RequiredToolRefused } from '../tools/required-tools.ts';
import type { Offer, Toolbox } from '../tools/toolbox.ts';
import { commitMessages, withCommit } from './commit-result.ts';
import {
  blocked,
  endingOf,
  outcomeOf,
  type RunEnd,
  stoppedByError,
  stoppedByGuard,
  stoppedByStepLimit,
} from './outcome.ts';
import { review } from './review.ts';
import { resumeState, resumesLater, startState } from './run-start.ts';
import { repositoryOf } from './task-repository.ts';

interface TaskExecutorOptions {
  readonly config: Pick<AgentConfig, 'limits' | 'hooks' | 'workspace'>;
  readonly profile: { readonly name: string; readonly identity?: string | undefined };
  readonly lead: ConversationLead;
  readonly model: AgentModel;
  readonly workspaces: Workspaces;
  readonly toolbox: Toolbox;
  readonly clock: Clock;
  readonly observe: Observation;
  readonly bundles?: BundleSource | undefined;
  /** The limits of the files that come with a task; undefined where the model cannot read files. */
  readonly files: FileLimits | undefined;
  readonly peersSummary?: (() => string) | undefined;
  /** Ends the processes that external tools have started for a context. */
  readonly releaseContext: (contextId: string) => Promise<void>;
}

/**
 * Carries out tasks by a model's conversation, which survives a crash (docs/agent.md#the-loop). A deadline or a cancel ends
 * it with the work so far; any other abort throws the signal's reason once the work is safe. `blocked` when the workspace
 * refuses the task, or the model's provider a tool that the task requires.
 */
export function createTaskExecutor(options: TaskExecutorOptions): Executor {
  const { workspaces, toolbox, clock, files, lead } = options;
  const { log, tracing } = options.observe;
  // offline/runbook carries out what its one brief spells out.
  const continues = lead.goesOn && options.model.info.id !== 'offline/runbook';
  return {
    model: options.model.info,
    async run(task, context) {
      const messages = commitMessages(task, options.config.workspace.commit);
      const saved = context.checkpoint.load();
      const ending = AbortSignal.any([context.signal, context.stopping]);
      const opened = await openTraced({ task, tracing }, workspaces, {
        repository: repositoryOf(task, options.bundles, ending),
        resumes: saved !== undefined,
        signal: ending,
        onSetUp: (state) => context.reportEvent({ type: 'progress', data: { set_up: state } }),
        onFetch: (state) => context.reportEvent({ type: 'progress', data: { fetch: state } }),
      }).catch(refusalIn);
      if ('refused' in opened) return blocked(...opened.refused);
      await using workspace = opened;
      const state = saved
        ? await resumeState(saved, workspace)
        : await startState({ log, continues, inbox: { files, clock } }, task, context, workspace);
      if ('refused' in state) return blocked(state.refused);
      const offer = await toolbox.offer(task, context.budget.limit, ending);
      // Kept in the checkpoint, so that a restart does not change it.
      const instructions =
        state.instructions ?? (await instructionsOf(options, task, context, workspace, offer));
      state.instructions = instructions;
      const run = createRun(options, task, context, workspace, state, offer, instructions);
      try {
        // No process writes to the tree while it is committed.
        const end = await run.toEnd().finally(() => options.releaseContext(task.contextId));
        await workspace.save();
        const outcome = await run.outcome(end);
        return withCommit(outcome, await workspace.commit(messages.of(outcome)));
      } catch (error) {
        const message = messages.interrupted();
        const kept = resumesLater(context, error)
          ? workspace.leave(message)
          : workspace.commit(message, { isTold: false });
        await kept.catch((cause) => {
          const fields = { ...taskFields(task), err: cause };
          log.error(fields, 'the work of an interrupted task could not be committed');
        });
        context.signal.throwIfAborted();
        throw error;
      }
    },
  };
}

function createRun(
  options: TaskExecutorOptions,
  task: AdmittedTask,
  context: RunContext,
  workspace: Workspace,
  state: RunState,
  { tools, unmet }: Offer,
  instructions: string,
) {
  const { config, lead, observe, model, clock } = options;
  const { limits, hooks } = config;
  const { log } = observe;
  const { signal, budget, reportEvent } = context;
  // A review has to know the data of the task too.
  const brief = `${task.dispatch.brief}${attachedText({ data: byLength(task.parts).shown, files: [] })}`;
  const { priority = 'normal' } = task.dispatch.task;
  const contract = replyContract(task);
  const write = checkpointWriter();
  const toolNames = new Set(tools.map(({ name }) => lead.nameOf(name)));
  const save = async (): Promise<void> => context.checkpoint.save(write(state), 'messages');
  function onGuard(guard: string, level: string): void {
    observe.onGuard?.(guard, level);
    const data = { guard, level, spent_tokens: budget.spent(), budget_tokens: budget.limit ?? null };
    reportEvent({ type: 'progress', data }).catch((err: unknown) => {
      log.warn({ ...taskFields(task), guard, level, err }, 'an intervention of a guard has no event');
    });
  }
  const resources: RunResources = {
    ...observe,
    ...context,
    onGuard,
    limits,
    hooks,
    model,
    clock,
    task,
    workspace,
    files: workspace.files,
  };
  const main = lead.converse(
    {
      state,
      save,
      key: '',
      instructions,
      tools,
      maxSteps: limits.max_steps,
      keepTokens: 0,
      wrapUpPrompt,
      progressFields: {},
      streamsText: true,
    },
    resources,
  );

  /** Adds the next follow-up prompt, if any, for a model that says it is done. `runToEnd` saves and sends it. */
  async function continues(): Promise<boolean> {
    const message = readFinalMessage(lastText(state.messages));
    if (message.claim !== 'unreadable' && message.claim.status !== 'done') return false;
    if (state.wrapped_up && !message.stated) return false;
    const said = { message: lastText(state.messages), contract, tools: toolNames };
    const ending = endingOf(said, state.finished);
    const told = ending && !state.ending_told && !state.wrapped_up ? endingPrompt(ending) : undefined;
    if (told !== undefined && (await main.canAfford(2, told))) {
      main.followUp(told, 'on');
      state.ending_told = true;
      onGuard('ending', 'warn');
      return true;
    }
    // Without tools, the model could only claim what the call that did not come was to do.
    if (ending === 'promise') return false;
    const verify = main.guards.completionPrompt({ priority, reply: contract.kind, nudges: state.nudges });
    if (verify !== undefined && !state.wrapped_up && (await main.canAfford(2, verify))) {
      main.followUp(verify, 'on');
      state.nudges += 1;
      onGuard('verify', 'warn');
      return true;
    }
    const objections = isDeep(priority) ? await review({ state, brief, tools, resources, main, save }) : [];
    if (objections.length > 0) {
      main.followUp(objectionsPrompt(objections), 'on');
      onGuard('review', 'warn');
      return true;
    }
    const { problems } = readReply(message, contract);
    const repair = repairPrompt(problems, replyRequest(contract));
    if (problems.length === 0 || state.repaired || !(await main.canAfford(1, repair))) return false;
    main.followUp(repair, 'off');
    state.repaired = true;
    onGuard('reply', 'warn');
    return true;
  }

  function earlyEnd(): RunEnd {
    const stop = main.guardStop();
    if (stop !== undefined) return stoppedByGuard(stop, state.step);
    onGuard('steps', 'stop');
    return stoppedByStepLimit(limits.max_steps);
  }

  async function toEnd(): Promise<RunEnd> {
    try {
      if (unmet !== undefined) return { kind: 'blocked', unmet };
      do {
        if (!(await main.runToEnd())) return earlyEnd();
      } while (await continues());
      return { kind: 'finished', finishReason: state.finished ?? 'other' };
    } catch (thrown) {
      const error: unknown = signal.aborted ? signal.reason : thrown;
      if (error instanceof RequiredToolRefused) return { kind: 'blocked', unmet: error.unmet };
      const stopped = stoppedByError(error, state.step);
      if (stopped === undefined) throw error;
      const guard = STOP_GUARDS[stopped.code];
      if (guard !== undefined) onGuard(guard, 'stop');
      log.warn({ ...taskFields(task), code: stopped.code, err: error }, 'a run was stopped');
      // The next task of the context is to know of this one, also if it ends in its first step.
      if (state.step === 0) await save();
      return stopped;
    } finally {
      await main.close?.();
    }
  }

  return {
    toEnd,
    outcome: async (end: RunEnd): Promise<RunOutcome> =>
      outcomeOf({
        end,
        message: lastText(state.messages),
        contract,
        state,
        canRun: tools.some(({ name }) => name === 'shell_exec'),
        tools: toolNames,
        verifies: hooks.verifyBeforeComplete,
        maxSteps: limits.max_steps,
        filesChanged: await workspace.changedSince(state.base),
      }),
  };
}

/** The guards that count a stop, by its code. */
const STOP_GUARDS: Readonly<Record<string, string>> = {
  budget_exhausted: 'budget',
  model_failed: 'model',
  deadline_exceeded: 'deadline',
};

async function instructionsOf(
  options: TaskExecutorOptions,
  task: AdmittedTask,
  { budget, signal, stopping }: RunContext,
  workspace: Workspace,
  offer: Offer,
): Promise<string> {
  const { profile, clock, observe, config, lead } = options;
  return systemPrompt({
    profile: profile.name,
    identity: profile.identity,
    clock,
    log: observe.log,
    task,
    workspace,
    budget,
    peers: options.peersSummary?.(),
    offer: withNames(offer, lead),
    files: workspace.files,
    verify: config.hooks.verifyBeforeComplete,
    signal: AbortSignal.any([signal, stopping]),
  });
}

const withNames = (offer: Offer, { nameOf }: ConversationLead): Offer => ({
  ...offer,
  tools: offer.tools.map((tool) => ({ ...tool, name: nameOf(tool.name) })),
});

function refusalIn(error: unknown): { readonly refused: readonly Unmet[] } {
  if (error instanceof WorkspaceRefused) return { refused: error.unmet };
  throw error;
}
