import { FleetError } from '@hermes-fleet/protocol';
import { taskFields } from '@hermes-fleet/protocol/ports';
import type { ModelMessage } from 'ai';
import { type ContextOverflow, contextOverflow } from '../messages/context-overflow.ts';
import { createEstimator } from '../messages/history.ts';
import { MIN_OUTPUT_TOKENS } from '../model/call/model-call.ts';
import type { RunResources } from '../run/conversation.ts';
import { newContextState } from '../run/run-state.ts';
import { type ContextWindowOptions, createCompaction, type SentInput } from './compaction.ts';
import { createMeter } from './meter.ts';
import { taskOf, withJoinedSummary } from './summary.ts';
import { abridgedToFit, turnStarts } from './turns.ts';

/** The share of the window that stays free for the answer, if an answer may be so long. */
const ANSWER_SHARE = 1 / 8;
/** The share that stays free besides, until a call is metered: what the provider adds is not known yet. */
const UNMETERED_SHARE = 1 / 64;
/** Pruning begins at this share of the limit. */
const PRUNE_AT = 0.75;

/** Keeps a conversation within its model's context window (docs/agent.md#long-conversations). */
export function createContextWindow(options: ContextWindowOptions, resources: RunResources) {
  const { state, fixed } = options;
  const { model, limits, log, task } = resources;
  const before = state.context;
  const context =
    before?.model === model.info.id
      ? before
      : { ...newContextState(model.info.id), ...(before && { kept: before.kept }) };
  state.context = context;
  const meter = createMeter(context, () => model.info.contextWindow);
  const estimate = createEstimator();

  // It decides by the calls that it sees, and reports their outputs: nothing changes while there is room.
  const isRunbook = model.info.id === 'offline/runbook';
  const window = (): number => Math.min(model.info.contextWindow, context.window ?? Number.POSITIVE_INFINITY);
  let refusal: FleetError | undefined;
  /** The provider's own figures, which an error names rather than what was concluded from them. */
  let stated: ContextOverflow = {};
  const mostInput = (): number => limits.max_input_tokens ?? Number.POSITIVE_INFINITY;

  /** The most input of a step, in corrected tokens. */
  function ceiling(): number {
    const answer = Math.max(MIN_OUTPUT_TOKENS, Math.floor(window() * ANSWER_SHARE));
    return Math.min(window() - Math.min(limits.max_output_tokens, answer), mostInput());
  }

  async function inputOf(messages: ModelMessage[]): Promise<SentInput> {
    const inputTokens = await estimate(fixed, messages);
    const isMetered = context.ratio !== undefined || context.extra > 0;
    const margin = isMetered ? 0 : Math.floor(window() * UNMETERED_SHARE);
    const windowTokens = meter.corrected(inputTokens) + margin;
    const outputRoom = window() - windowTokens;
    return { messages: withJoinedSummary(messages), inputTokens, windowTokens, outputRoom };
  }

  const makeRoom = createCompaction(
    {
      ...options,
      context,
      inputOf,
      ceiling,
      limit: () =>
        isRunbook
          ? ceiling()
          : Math.min(ceiling(), Math.floor(limits.compact_at * Math.min(window(), mostInput()))),
      pruneShare: isRunbook ? 1 : PRUNE_AT,
      summarizes: !isRunbook,
      size: async (messages) => meter.corrected(await estimate(fixed, messages)),
      tokensOf: async (messages) => (await estimate(fixed, messages)) - (await estimate(fixed, [])),
    },
    resources,
  );

  return {
    /** The estimated input of the next step, not corrected. */
    inputTokens: () => estimate(fixed, state.messages),
    /** The tokens that are free in the window; negative when the next step needs more room. */
    room: async () => window() - meter.corrected(await estimate(fixed, state.messages)),
    /** False when it does not fit even when shorter. Throws MODEL_FAILED when the task alone does not fit. */
    async makeRoom(): Promise<boolean> {
      if (await makeRoom()) return true;
      if (turnStarts(state.messages).length > 0) return false;
      const most = Math.min(window() - MIN_OUTPUT_TOKENS, mostInput());
      const tokens = meter.corrected(await estimate(fixed, state.messages));
      if (tokens <= most) return true;
      const which =
        most === mostInput()
          ? 'limits.max_input_tokens'
          : `the model's context window of ${stated.limit ?? window()} tokens`;
      const why = refusal === undefined ? '' : ` (${refusal.message})`;
      const message = `the task does not fit ${which}: with the prompt and the tools it takes about ${Math.max(tokens, stated.input ?? 0)} tokens${why}`;
      throw new FleetError('MODEL_FAILED', message, { retryable: false, cause: refusal });
    },
    /** The input of the next call. With the tools off, the longest form that fits window and budget, else the shortest. */
    async toSend(): Promise<SentInput> {
      if (!state.tools_off) return inputOf(state.messages);
      const messages = await abridgedToFit(state.messages, async (short) => {
        const tokens = await estimate(fixed, short);
        return tokens + MIN_OUTPUT_TOKENS <= options.left() && meter.corrected(tokens) <= ceiling();
      });
      return inputOf(messages);
    },
    /** True when a prompt of so many tokens fits beside the task, once there is room. */
    async takes(promptTokens: number): Promise<boolean> {
      const brief = taskOf(state.messages);
      const tokens = await estimate(fixed, brief === undefined ? [] : [brief]);
      return meter.corrected(tokens + promptTokens) <= ceiling();
    },
    /** Learns from the provider's figure for an input. */
    metered: (sent: SentInput, tokens: number): void => meter.learn(sent.inputTokens, tokens),
    /** Learns from an error of a call. True when it was a refusal by length, after which another try is worth making. */
    refused(sent: SentInput, error: unknown): boolean {
      if (!(error instanceof FleetError)) return false;
      const says = contextOverflow(error);
      if (says === undefined || !meter.refused(sent.inputTokens, says)) return false;
      refusal = error;
      stated = { ...stated, ...says };
      log.warn(
        { ...taskFields(task), ...says, estimated_tokens: sent.inputTokens, window: window() },
        "the model's provider refused a conversation as too long",
      );
      return true;
    },
  };
}
