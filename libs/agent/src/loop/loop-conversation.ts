import { type JsonObject, taskFields } from '@hermes-fleet/protocol';
import { countTokens } from '@hermes-fleet/tokens';
import type { ModelMessage } from 'ai';
import { abridged, createEstimator, pendingCalls, withoutCalls, withoutEmpty } from '../messages/history.ts';
import { callModel, MIN_OUTPUT_TOKENS } from '../model/model-call.ts';
import type { ModelRetry } from '../model/retries.ts';
import type { Conversation, ConversationOptions, RunResources, ToolContext } from '../run/conversation.ts';
import { toolDefinitions } from '../run/tool.ts';
import { createPendingCalls } from './pending-calls.ts';
import { createPendingWrites } from './pending-writes.ts';
import { reportRetry } from './report-retry.ts';
import { createTextReporter } from './text-reporter.ts';
import { createToolCalls, type Together } from './tool-calls.ts';
import { toolContext } from './tool-context.ts';

/** The estimated cost of a follow-up prompt and a short answer, besides the conversation itself. */
export const FOLLOW_UP_TOKENS = 300;

/**
 * The agent loop: a conversation with a model that uses tools (docs/agent.md#the-loop). Every step and every call is
 * saved, so the conversation survives a crash. When the budget does not cover this step and one more, each with a short
 * answer, the model is told once to wrap up without tools; never before its first step. Throws the errors of
 * `callModel`, and the reason of `stopping`.
 */
export function createLoopConversation(options: ConversationOptions, resources: RunResources): Conversation {
  const { state, instructions, maxSteps, keepTokens, save } = options;
  const { signal, stopping, model, limits, log, report, task } = resources;
  const budget = options.budget ?? resources.budget;
  const definitions = toolDefinitions(options.tools);
  const estimate = createEstimator();
  const fixed = `${instructions}${definitions.json}`;
  const left = (): number => Math.max(0, budget.remaining() - keepTokens);

  const writes = createPendingWrites();
  const calls = createToolCalls({ ...options, contextOf, pause, progress, writes }, resources);

  async function progress(data: JsonObject): Promise<void> {
    const spent = { spent_tokens: budget.spent(), budget_tokens: budget.limit ?? null };
    await report({
      type: 'progress',
      data: { step: state.step, ...options.progressFields, ...data, ...spent },
    });
  }

  function contextOf(key: string, together: Together = {}): ToolContext {
    const shared = { ...resources, ...together };
    const parts = { ...options, budget, inputTokens, converse: createLoopConversation, ...together };
    return toolContext(key, parts, shared);
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

  const pending = createPendingCalls({
    state,
    save,
    calls,
    windowTokens: model.info.contextWindow,
    inputTokens: () => inputTokens(),
    pauseIfStopping,
  });

  function followUp(message: string, tools: 'on' | 'off'): void {
    state.messages.push({ role: 'user', content: message });
    state.tools_off = tools === 'off';
    state.finished = undefined;
  }

  const inputTokens = (): Promise<number> => estimate(fixed, state.messages);

  async function wrapUpIfDue(): Promise<void> {
    if (state.step === 0 || state.wrapped_up || state.tools_off) return;
    if (left() >= 2 * ((await inputTokens()) + FOLLOW_UP_TOKENS)) return;
    followUp(options.wrapUpPrompt(left()), 'off');
    state.wrapped_up = true;
    await save();
    resources.onGuard?.('budget', 'wrap_up');
  }

  /** A prompt without tools that does not fit the budget is sent with an abridged history. */
  async function messagesToSend(): Promise<{ messages: ModelMessage[]; inputTokens: number }> {
    const whole = { messages: state.messages, inputTokens: await inputTokens() };
    if (!state.tools_off || whole.inputTokens + MIN_OUTPUT_TOKENS <= left()) return whole;
    const messages = abridged(state.messages);
    return { messages, inputTokens: await estimate(fixed, messages) };
  }

  async function step(): Promise<void> {
    await wrapUpIfDue();
    const sent = await messagesToSend();
    const toolsOff = state.tools_off === true;
    let reporter = createTextReporter(report, resources.clock);
    async function onRetry(retry: ModelRetry): Promise<void> {
      await reporter.finish();
      reporter = createTextReporter(report, resources.clock);
      const isTextVoid = retry.isTextVoid && options.streamsText;
      await reportRetry({ ...retry, isTextVoid }, { ...resources, progress });
    }
    try {
      const { messages, meteredInputTokens, settled, ...end } = await callModel({
        ...sent,
        model,
        budget,
        keepTokens,
        instructions,
        tools: definitions.set,
        toolsOff,
        maxOutputTokens: limits.max_output_tokens,
        signal,
        onText: (delta) => void (options.streamsText && reporter.push(delta)),
        ready: writes.durable,
        clock: resources.clock,
        stopping,
        deadlineAt: task.deadlineAt,
        onRetry,
      });
      writes.add(settled);
      if (meteredInputTokens !== undefined) resources.onTokenDrift?.(meteredInputTokens / sent.inputTokens);
      const kept = toolsOff ? withoutCalls(messages) : calls.accepted(withoutEmpty(messages), end);
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
    while (state.finished === undefined) {
      const isStopped = calls.guardStop() !== undefined && !state.tools_off;
      if (isStopped || state.step >= maxSteps) return false;
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
      const each = (await inputTokens()) + (await countTokens(prompt)) + FOLLOW_UP_TOKENS;
      return each <= model.info.contextWindow && steps * each <= left();
    },
    inputTokens,
    guards: calls.guards,
    guardStop: calls.guardStop,
  };
}

/** True when a step leaves nothing to do: no call to carry out, and no refused call to report to the model. */
const endsConversation = (messages: readonly ModelMessage[]): boolean =>
  pendingCalls(messages).length === 0 && messages.at(-1)?.role !== 'tool';
