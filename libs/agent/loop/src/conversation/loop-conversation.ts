import type { JsonObject } from '@hermes-fleet/protocol';
import { taskFields } from '@hermes-fleet/protocol/ports';
import { countTokens } from '@hermes-fleet/protocol/tokens';
import type { ModelMessage } from 'ai';
import type { SentInput } from '../context/compaction.ts';
import { createContextWindow } from '../context/context-window.ts';
import type { WrapUpReason } from '../messages/follow-up-prompts.ts';
import { lastText, pendingCalls, withoutCalls, withoutEmpty } from '../messages/history.ts';
import { callModel, type ModelCallRequest, type ModelCallResult } from '../model/call/model-call.ts';
import type { ModelRetry } from '../model/call/retries.ts';
import type { AgentModel } from '../model/create-model.ts';
import type { Conversation, ConversationOptions, RunResources, ToolContext } from '../run/conversation.ts';
import { inModelSpan } from '../run/spans.ts';
import { createCallTokens } from './call-tokens.ts';
import { limitedCalls, MAX_CALLS } from './limited-calls.ts';
import { createOfferedTools } from './offered-tools.ts';
import { createPendingCalls } from './pending-calls.ts';
import { createPendingWrites } from './pending-writes.ts';
import { createTextReporter } from './text-reporter.ts';
import { createToolCalls, type StepEnd, type Together } from './tool-calls.ts';
import { toolContext } from './tool-context.ts';

/** The estimated cost of a follow-up prompt and a short answer, besides the conversation itself. */
export const FOLLOW_UP_TOKENS = 300;

/**
 * The agent loop (docs/agent.md#the-loop). Every step and call is saved, so that it survives a crash. Once, and never
 * before its first step, the model is told to wrap up without tools: when the budget does not cover this step and one more,
 * all steps are used up, or the window is full. Throws the errors of `callModel`, RequiredToolRefused, and the reason of
 * `stopping`.
 */
export function createLoopConversation(options: ConversationOptions, resources: RunResources): Conversation {
  const { state, instructions, maxSteps, keepTokens, save } = options;
  const { signal, stopping, model, limits, log, reportEvent, task } = resources;
  const budget = options.budget ?? resources.budget;
  const offered = createOfferedTools(options.tools, resources);
  const left = (): number => Math.max(0, budget.remaining() - keepTokens);

  const writes = createPendingWrites();
  const tokens = createCallTokens();
  const calls = createToolCalls({ ...options, contextOf, pause, progress, writes }, resources);
  const window = createContextWindow(
    {
      state,
      key: options.key,
      save,
      fixed: `${instructions}${offered.json}`,
      left,
      progress,
      track: writes.add,
      ask: askAside,
    },
    resources,
  );

  async function progress(data: JsonObject): Promise<void> {
    const spent = { spent_tokens: budget.spent(), budget_tokens: budget.limit ?? null };
    await reportEvent({
      type: 'progress',
      data: { step: state.step, ...options.progressFields, ...data, ...spent, ...tokens.takeFields() },
    });
  }

  function contextOf(key: string, together: Together = {}): ToolContext {
    const { inputTokens } = window;
    const parts = { ...options, budget, inputTokens, converse: createLoopConversation, ...together };
    return toolContext(key, parts, { ...resources, ...together });
  }

  /** Called where nothing is in progress: the process may stop here, and the next start resumes without a trace. */
  async function pauseIfStopping(): Promise<void> {
    if (stopping.aborted) await pause();
  }

  async function pause(): Promise<never> {
    state.paused = true;
    await save();
    throw stopping.reason;
  }

  const pending = createPendingCalls({ state, save, calls, room: window.room, pauseIfStopping });

  function followUp(message: string, tools: 'on' | 'off'): void {
    state.messages.push({ role: 'user', content: message });
    state.tools_off = tools === 'off';
    state.finished = undefined;
  }

  /** Durable before the next model call. */
  function wrapUp(reason: WrapUpReason): void {
    followUp(options.wrapUpPrompt(reason), 'off');
    state.wrapped_up = true;
    state.wrapped_up_for = reason.limit;
    writes.add(save());
    resources.onGuard?.(reason.limit, 'wrap_up');
  }

  async function wrapUpIfDue(): Promise<void> {
    if (state.step === 0 || state.wrapped_up || state.tools_off) return;
    if (left() >= 2 * ((await window.inputTokens()) + FOLLOW_UP_TOKENS)) return;
    wrapUp({ limit: 'budget', leftTokens: left() });
  }

  /** After the last step, the model gets one more for its wrap-up, if the budget covers it. */
  async function wrapsUpSteps(): Promise<boolean> {
    if (state.wrapped_up_for === 'steps' && state.tools_off) return true;
    if (state.wrapped_up || left() < (await window.inputTokens()) + FOLLOW_UP_TOKENS) return false;
    wrapUp({ limit: 'steps', maxSteps });
    return true;
  }

  function call(
    sent: SentInput,
    toolsOff: boolean,
    maxOutputTokens: number,
    heard: Heard,
  ): Promise<ModelCallResult> {
    const calling = (tools: ModelCallRequest['tools']): Promise<ModelCallResult> =>
      callModel({
        ...sent,
        ...heard,
        model,
        budget,
        keepTokens,
        instructions,
        tools,
        toolsOff,
        maxOutputTokens,
        signal,
        ready: writes.durable,
        clock: resources.clock,
        stopping,
        deadlineAt: task.deadlineAt,
        onUsage: tokens.add,
        onFarUsage: (usage, estimated_tokens) =>
          log.info(
            { ...taskFields(task), model: usage.model, input_tokens: usage.inputTokens, estimated_tokens },
            "the provider's figure for an input is far from the estimate; it is booked",
          ),
        onFallback: (from, to) => writes.add(reportFallback(from, to, { ...resources, progress })),
      });
    return offered.send((tools) => inModelSpan(resources, model.info.id, () => calling(tools)));
  }

  /** A call outside the conversation's steps, such as one for a summary. */
  async function askAside(sent: SentInput, maxOutputTokens: number): Promise<string> {
    const { messages, settled } = await call(sent, true, maxOutputTokens, {
      onText: () => {},
      onRetry: (retry) => reportRetry({ ...retry, isTextVoid: false }, { ...resources, progress }),
    });
    writes.add(settled);
    return lastText(withoutCalls(messages));
  }

  /** Makes the call of a step, unless the process began to stop while room was made for it; again with a shorter conversation when the provider refuses it as too long. */
  async function callStep(heard: Heard, tries = 0): Promise<ModelCallResult & { sent: SentInput }> {
    if (!state.tools_off && !(await window.makeRoom())) wrapUp({ limit: 'window' });
    if (stopping.aborted) throw stopping.reason;
    const sent = await window.toSend();
    try {
      return { ...(await call(sent, state.tools_off === true, limits.max_output_tokens, heard)), sent };
    } catch (error) {
      if (tries >= MAX_REFUSALS || !window.refused(sent, error)) throw error;
      return callStep(heard, tries + 1);
    }
  }

  function accepted(messages: readonly ModelMessage[], end: StepEnd): ModelMessage[] {
    const limited = limitedCalls(withoutEmpty(messages));
    const { made } = limited;
    if (made > MAX_CALLS)
      log.warn(
        { ...taskFields(task), calls: made, most: MAX_CALLS },
        'an answer of the model has too many calls: the last ones are not run',
      );
    return calls.accepted(limited.messages, end);
  }

  async function step(): Promise<void> {
    await wrapUpIfDue();
    let reporter = createTextReporter(reportEvent, resources.clock);
    async function onRetry(retry: ModelRetry): Promise<void> {
      const finished = reporter.finish();
      reporter = createTextReporter(reportEvent, resources.clock);
      const isTextVoid = retry.isTextVoid && options.streamsText;
      await Promise.all([finished, reportRetry({ ...retry, isTextVoid }, { ...resources, progress })]);
    }
    try {
      const answer = await callStep({
        onText: (delta) => void (options.streamsText && reporter.push(delta)),
        onRetry,
      });
      const { messages, meteredInputTokens, settled, sent, ...end } = answer;
      writes.add(settled);
      if (meteredInputTokens !== undefined) {
        window.metered(sent, meteredInputTokens);
        resources.onTokenDrift?.(meteredInputTokens / sent.inputTokens);
      }
      const kept = state.tools_off ? withoutCalls(messages) : accepted(messages, end);
      state.messages.push(...kept);
      state.step += 1;
      if (endsConversation(kept)) state.finished = end.finishReason;
      writes.add(reporter.finish(), save(), progress({}));
    } catch (error) {
      await reporter.finish();
      if (stopping.aborted && error === stopping.reason) await pause();
      throw error;
    }
  }

  async function runSteps(): Promise<boolean> {
    await pending.resume();
    if (state.messages.at(-1)?.role === 'user' && (state.step > 0 || options.savesStart)) writes.add(save());
    while (state.finished === undefined) {
      calls.guards.beforeStep(state.step);
      const isStopped = calls.guardStop() !== undefined && !state.tools_off;
      if (isStopped) return false;
      if (state.step >= maxSteps && !(await wrapsUpSteps())) return false;
      signal.throwIfAborted();
      await pauseIfStopping();
      await step();
      await pending.run();
    }
    return true;
  }

  /** Rethrows once no write is in progress any more. */
  async function settleAndThrow(error: unknown): Promise<never> {
    await writes.durable().catch((err: unknown) => {
      log.warn({ ...taskFields(task), err }, 'the last writes of a run could not be saved');
    });
    throw error;
  }

  return {
    async runToEnd() {
      const isDone = state.finished !== undefined || (await runSteps().catch(settleAndThrow));
      await writes.durable();
      return isDone;
    },
    followUp,
    async canAfford(steps, prompt = '') {
      if (state.step + steps > maxSteps) return false;
      const more = (await countTokens(prompt)) + FOLLOW_UP_TOKENS;
      if (!(await window.takes(more))) return false;
      return steps * ((await window.inputTokens()) + more) <= left();
    },
    inputTokens: window.inputTokens,
    guards: calls.guards,
    guardStop: calls.guardStop,
  };
}

type Heard = Required<Pick<ModelCallRequest, 'onText' | 'onRetry'>>;

/** How often in a row a provider's refusal as too long leads to a shorter conversation. */
const MAX_REFUSALS = 3;

/** True when a step leaves nothing to do: no call to carry out, and no refused call to report to the model. */
const endsConversation = (messages: readonly ModelMessage[]): boolean =>
  pendingCalls(messages).length === 0 && messages.at(-1)?.role !== 'tool';

/** Tells the log and a progress event of another try (docs/events.md#the-events), and whether the text so far is void. */
async function reportRetry(
  { attempt, reason, status, waitMs, isTextVoid }: ModelRetry,
  { task, model, log, progress }: Reporting,
): Promise<void> {
  const retry = { attempt, reason, http_status: status ?? null, wait_ms: waitMs, text_void: isTextVoid };
  log.warn({ ...taskFields(task), model: model.info.id, ...retry }, 'a model call is tried again');
  await progress({ retry });
}

async function reportFallback(
  from: AgentModel,
  to: AgentModel,
  { task, log, progress }: Reporting,
): Promise<void> {
  const fallback = { from: from.info.id, to: to.info.id };
  log.warn({ ...taskFields(task), ...fallback }, 'another model is called');
  await progress({ fallback });
}

type Reporting = Pick<RunResources, 'task' | 'model' | 'log'> & {
  readonly progress: (data: JsonObject) => Promise<void>;
};
