import { type JsonObject, toolFailure } from '@hermes-fleet/protocol';
import { countTokens } from '@hermes-fleet/tokens';
import type { ModelMessage } from 'ai';
import {
  abridged,
  createEstimator,
  NOT_RUN,
  pendingCalls,
  withoutCalls,
  withoutEmpty,
} from '../messages/history.ts';
import type { Conversation, ConversationOptions, RunResources, ToolContext } from '../run/conversation.ts';
import { toolDefinitions } from '../run/tool-set.ts';
import { createCalls } from './calls.ts';
import { callModel, MIN_OUTPUT_TOKENS } from './model-step.ts';
import { createTextReporter } from './text-reporter.ts';
import { toolContext } from './tool-context.ts';
import { createWrites } from './writes.ts';

/** What a question of the loop's own and a short answer to it take, beside the conversation. In tokens. */
export const FOLLOW_UP_TOKENS = 300;

/**
 * A conversation with a model that uses tools (design 3, The loop). Every step and every call is saved, so that it goes
 * on after a crash. When what is left would not take this step and one more, each with a short answer, the model is told
 * once to wrap up, without tools; never before its first step. Throws what a step throws, and the reason of `stopping`.
 */
export function createLoopConversation(o: ConversationOptions, parts: RunResources): Conversation {
  const { state } = o;
  const { signal, stopping } = parts;
  const budget = o.budget ?? parts.budget;
  const definitions = toolDefinitions(o.tools);
  const estimate = createEstimator();
  const fixed = `${o.instructions}${definitions.json}`;
  const left = (): number => Math.max(0, budget.remaining() - o.keepTokens);

  const writes = createWrites();
  const calls = createCalls({ ...o, contextOf, pause, progress, writes }, parts);

  async function progress(data: JsonObject): Promise<void> {
    const spent = { spent_tokens: budget.spent(), budget_tokens: budget.limit ?? null };
    await parts.report({
      type: 'progress',
      data: { step: state.step, ...o.progressFields, ...data, ...spent },
    });
  }

  function contextOf(key: string): ToolContext {
    return toolContext(key, { ...o, budget, inputTokens, converse: createLoopConversation }, parts);
  }

  /** Where nothing is under way: the process may stop here, and the next start go on as if it had not. */
  async function checkpoint(): Promise<void> {
    if (stopping.aborted) await pause();
  }

  async function pause(): Promise<never> {
    state.paused = true;
    await o.save();
    throw stopping.reason;
  }

  /** One answer may call a tool any number of times: what no step could ever be told is not looked for. */
  async function carryOut(): Promise<void> {
    for (const call of pendingCalls(state.messages)) {
      await checkpoint();
      if (calls.stopped() !== undefined) calls.note(call, toolFailure(STOPPED));
      else if ((await inputTokens()) > parts.model.info.contextWindow) calls.note(call, toolFailure(FULL));
      else await calls.run(call);
    }
  }

  /** After a restart that was no pause: a first call that changes things may have run, those behind it have not. */
  async function takeUp(): Promise<void> {
    if (calls.stopped() !== undefined) return carryOut();
    if (state.paused) {
      state.paused = undefined;
      await o.save();
      return carryOut();
    }
    const [first, ...rest] = pendingCalls(state.messages);
    if (first === undefined || calls.isRepeatable(first)) return carryOut();
    calls.answerUnknown(first);
    for (const call of rest) calls.answer(call, toolFailure(NOT_RUN));
  }

  function ask(message: string, offered: 'on' | 'off'): void {
    state.messages.push({ role: 'user', content: message });
    state.tools_off = offered === 'off';
    state.finished = undefined;
  }

  const inputTokens = (): Promise<number> => estimate(fixed, state.messages);

  async function wrapUpIfDue(): Promise<void> {
    if (state.step === 0 || state.wrapped_up || state.tools_off) return;
    if (left() >= 2 * ((await inputTokens()) + FOLLOW_UP_TOKENS)) return;
    ask(o.wrapUpPrompt(left()), 'off');
    state.wrapped_up = true;
    await o.save();
    parts.onGuard?.('budget', 'wrap_up');
  }

  /** What is sent: a question at the end of the budget goes out with the conversation cut short, where it must. */
  async function toSend(): Promise<{ messages: ModelMessage[]; inputTokens: number }> {
    const whole = { messages: state.messages, inputTokens: await inputTokens() };
    if (!state.tools_off || whole.inputTokens + MIN_OUTPUT_TOKENS <= left()) return whole;
    const messages = abridged(state.messages);
    return { messages, inputTokens: await estimate(fixed, messages) };
  }

  async function step(): Promise<void> {
    await wrapUpIfDue();
    const sent = await toSend();
    const toolsOff = state.tools_off === true;
    const reporter = createTextReporter(parts.report, parts.clock);
    try {
      const { messages, finishReason, meteredInputTokens, settled } = await callModel({
        ...sent,
        model: parts.model,
        budget,
        keepTokens: o.keepTokens,
        instructions: o.instructions,
        tools: definitions.set,
        toolsOff,
        maxOutputTokens: parts.limits.max_output_tokens,
        signal,
        onText: o.streamsText ? reporter.push : () => {},
        ready: writes.durable,
      });
      writes.begun(settled);
      if (meteredInputTokens !== undefined) parts.onTokenDrift?.(meteredInputTokens / sent.inputTokens);
      const kept = toolsOff ? withoutCalls(messages) : calls.judged(withoutEmpty(messages));
      state.messages.push(...kept);
      state.step += 1;
      if (endsConversation(kept)) state.finished = finishReason;
      writes.begun(reporter.finish(), o.save(), progress({}));
    } catch (error) {
      await reporter.finish();
      throw error;
    }
  }

  async function work(): Promise<boolean> {
    await takeUp();
    while (state.finished === undefined) {
      const isStopped = calls.stopped() !== undefined && !state.tools_off;
      if (isStopped || state.step >= o.maxSteps) return false;
      signal.throwIfAborted();
      await checkpoint();
      await step();
      await carryOut();
    }
    return true;
  }

  /** Ends with what ended it, once nothing is under way any more. */
  async function unsaved(error: unknown): Promise<never> {
    await writes.durable().catch((err: unknown) => {
      parts.log.warn({ task_id: parts.task.id, err }, 'what a run did last could not be saved');
    });
    throw error;
  }

  return {
    async runToEnd() {
      const isDone = state.finished !== undefined || (await work().catch(unsaved));
      await writes.durable();
      return isDone;
    },
    followUp: ask,
    async canAfford(steps, question = '') {
      if (state.step + steps > o.maxSteps) return false;
      const each = (await inputTokens()) + (await countTokens(question)) + FOLLOW_UP_TOKENS;
      return each <= parts.model.info.contextWindow && steps * each <= left();
    },
    inputTokens,
    guards: calls.guards,
    guardStop: calls.stopped,
  };
}

const STOPPED = 'not run: the conversation was ended, since it went in circles';
const FULL = "not run: the conversation already fills the model's context window";

/** Whether a step's messages leave nothing to do: no call to carry out, and no refused one to be told of. */
const endsConversation = (messages: readonly ModelMessage[]): boolean =>
  pendingCalls(messages).length === 0 && messages.at(-1)?.role !== 'tool';
