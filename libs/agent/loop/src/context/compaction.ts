import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { taskFields } from '@hermes-fleet/protocol/ports';
import type { ModelMessage } from 'ai';
import { createSpill, isKept, keptClause } from '../guards/spill.ts';
import { summarizePrompt } from '../messages/follow-up-prompts.ts';
import { withShortInputs } from '../messages/history.ts';
import type { ModelCallRequest } from '../model/call/model-call.ts';
import type { CompactionStage, ConversationOptions, RunResources } from '../run/conversation.ts';
import { type ContextState, newGuardState } from '../run/run-state.ts';
import { type KeepOutput, prunableTokens, pruned } from './prune.ts';
import { shortened } from './shorten.ts';
import { summarized, taskOf } from './summary.ts';
import { abridgedToFit, tailStart, turnStarts, withoutEarlier } from './turns.ts';

export interface ContextWindowOptions extends Pick<ConversationOptions, 'state' | 'key' | 'save'> {
  /** The system prompt and the tools' definitions, as text. */
  readonly fixed: string;
  /** Tokens of the budget that are left for the conversation. */
  left(): number;
  progress(data: JsonObject): Promise<void>;
  /** Tracks started writes, which are durable before the next model call. */
  track(...writes: readonly Promise<unknown>[]): void;
  /** Calls the model without tools, outside the conversation's steps. Throws as `callModel` does. */
  ask(sent: SentInput, maxOutputTokens: number): Promise<string>;
}

/** The input of one model call. */
export type SentInput = Pick<ModelCallRequest, 'messages' | 'inputTokens'> &
  Required<Pick<ModelCallRequest, 'outputRoom' | 'windowTokens'>>;

/** Shares of the limit. Pruning must free at least this one. */
const PRUNE_GAIN = 0.2;
/** The newest turns, up to this share and to half of what the task leaves, stay as they are. */
const TAIL_SHARE = 0.25;
const PROTECTED_TURNS = 2;
/** The newest results get at most this share before anything is summarized. */
const NEWEST_SHARE = 0.5;
/** The conversation must have grown by this share before it is summarized again. */
const GROWTH = 0.1;
/** After so many summaries that could not be made, none is tried any more. */
const MAX_FAILURES = 3;
const MAX_CUTS = 5;
/** The size is corrected, and what is cut is not. */
const OVER_MARGIN = 1.2;

/** A summary's length: a sixteenth of the window, within these bounds. In tokens. */
const SUMMARY_SHARE = 1 / 16;
const SUMMARY_TOKENS = { min: 256, max: 4096 };
const WORDS_PER_TOKEN = 0.5;
/** Steps that the budget must cover after a summary, and what each adds. */
const STEPS_AFTER = 2;
const STEP_TOKENS = 300;

interface CompactionOptions extends ContextWindowOptions {
  readonly context: ContextState;
  /** The most input of a step. This and all sizes are in corrected tokens. */
  ceiling(): number;
  /** The input above which the conversation is summarized. */
  limit(): number;
  /** Pruning begins at this share of the limit. */
  readonly pruneShare: number;
  /** True when the model can be asked for a summary. */
  readonly summarizes: boolean;
  size(messages: readonly ModelMessage[]): Promise<number>;
  /** The tokens of messages alone. */
  tokensOf(messages: readonly ModelMessage[]): Promise<number>;
  inputOf(messages: ModelMessage[]): Promise<SentInput>;
}

/** Makes a conversation shorter in stages, each durable in the state (docs/agent.md#long-conversations). */
export function createCompaction(options: CompactionOptions, resources: RunResources) {
  const { state, context, size, limit, ceiling } = options;
  const { task, log, model, signal, limits } = resources;
  state.guards ??= newGuardState();
  const spill = createSpill({ taskId: task.id, files: resources.files, log }, state.guards);

  const keep: KeepOutput = async (tool, text) => {
    const clause = keptClause(task.id, text);
    if (clause !== undefined) return clause;
    context.kept += 1;
    const key = `${options.key}kept-${context.kept}`;
    return spill({ tool, input: undefined, key, mutates: false }, text);
  };

  /** Takes over shorter messages, and reports them. Resolves with the new size. */
  async function replace(stage: CompactionStage, messages: ModelMessage[], before: number): Promise<number> {
    const after = await size(messages);
    state.messages = messages;
    const compaction = { stage, before_tokens: before, after_tokens: after };
    log.info({ ...taskFields(task), ...compaction }, 'a conversation was made shorter');
    resources.onCompaction?.(stage);
    options.track(options.save(), options.progress({ compaction }));
    return after;
  }

  /** The index where the newest turns begin. */
  async function tailOf(turns: number): Promise<number> {
    const tokens = new Map<ModelMessage, number>();
    for (const message of state.messages) tokens.set(message, await options.tokensOf([message]));
    const tokensOf = (message: ModelMessage): number => tokens.get(message) ?? 0;
    const brief = taskOf(state.messages);
    const free = limit() - (await size(brief === undefined ? [] : [brief]));
    const maxTokens = Math.min(TAIL_SHARE * limit(), free / 2);
    return tailStart(state.messages, { turns, maxTokens, tokensOf });
  }

  const isSame = (messages: readonly ModelMessage[]): boolean =>
    messages.every((message, index) => message === state.messages[index]);

  const lastTurn = (): number => turnStarts(state.messages).at(-1) ?? state.messages.length;

  async function prune(before: number): Promise<number> {
    const end = await tailOf(PROTECTED_TURNS);
    if (prunableTokens(state.messages, end) < PRUNE_GAIN * limit()) return before;
    let isFull = false;
    const short = await pruned(state.messages, end, async (tool, text) => {
      if (isFull) return 'the full output could not be kept';
      const clause = await keep(tool, text);
      isFull = !isKept(clause);
      return clause;
    });
    return isSame(short) ? before : replace('prune', short, before);
  }

  /** Shortens the newest results to `maxTokens` together. */
  async function cut(before: number, maxTokens: number): Promise<number> {
    const from = lastTurn();
    const newest = async (messages: readonly ModelMessage[]): Promise<number> =>
      options.tokensOf(messages.slice(from).filter(({ role }) => role === 'tool'));
    if ((await newest(state.messages)) <= maxTokens) return before;
    const kept = new Map<string, Promise<string>>();
    const keepOnce: KeepOutput = (tool, text) => {
      const clause = kept.get(text) ?? keep(tool, text);
      kept.set(text, clause);
      return clause;
    };
    let messages = state.messages;
    for (let tries = 0, target = maxTokens; tries < MAX_CUTS; tries += 1, target *= 0.6) {
      messages = await shortened(state.messages, from, target, keepOnce);
      if ((await newest(messages)) <= maxTokens) break;
    }
    return replace('cut', messages, before);
  }

  /** Without the model: prunes all but the newest turn, and truncates the inputs of older calls. */
  async function reduce(before: number): Promise<number> {
    const end = lastTurn();
    const short = (await pruned(state.messages, end, keep, true)).map((message, index) =>
      index < end ? withShortInputs(message) : message,
    );
    return isSame(short) ? before : replace('prune', short, before);
  }

  /** Resolves with undefined when there is nothing to summarize, or when no summary can be had or paid for. */
  async function summarize(before: number): Promise<number | undefined> {
    const end = await tailOf(1);
    const head = state.messages.slice(0, end);
    const isPossible = options.summarizes && context.failures < MAX_FAILURES;
    if (!isPossible || turnStarts(head).length === 0) return undefined;
    const summary = await summaryOf(head);
    if (summary === undefined) return undefined;
    return replace('summary', summarized(state.messages, end, summary, state.journal), before);
  }

  async function summaryOf(head: readonly ModelMessage[]): Promise<string | undefined> {
    const share = Math.floor(model.info.contextWindow * SUMMARY_SHARE);
    const room = Math.min(SUMMARY_TOKENS.max, Math.max(SUMMARY_TOKENS.min, share));
    const maxTokens = Math.min(limits.max_output_tokens, room);
    const prompt: ModelMessage = {
      role: 'user',
      content: summarizePrompt(Math.floor(maxTokens * WORDS_PER_TOKEN)),
    };
    const fits = ({ outputRoom, windowTokens }: SentInput): boolean =>
      outputRoom >= maxTokens && windowTokens <= (limits.max_input_tokens ?? Number.POSITIVE_INFINITY);
    const messages = await abridgedToFit([...head, prompt], async (short) =>
      fits(await options.inputOf(short)),
    );
    const sent = await options.inputOf(messages);
    const after = STEPS_AFTER * ((await options.tokensOf(state.messages.slice(head.length))) + maxTokens);
    const needed = sent.inputTokens + maxTokens + after + STEPS_AFTER * STEP_TOKENS;
    return fits(sent) && options.left() >= needed ? ask(sent, maxTokens) : undefined;
  }

  /** Leaves out the oldest turns of earlier tasks, until half of the limit is free or none is left. */
  async function leaveOut(before: number): Promise<number> {
    for (const messages of withoutEarlier(state.messages)) {
      const tokens = await size(messages);
      if (tokens > limit() / 2 && messages[0] !== taskOf(messages)) continue;
      return replace('prune', messages, before);
    }
    return before;
  }

  async function ask(sent: SentInput, maxTokens: number): Promise<string | undefined> {
    try {
      const summary = (await options.ask(sent, maxTokens)).trim();
      if (summary !== '') return summary;
      log.warn(taskFields(task), 'the model gave no summary of a long conversation');
    } catch (error) {
      signal.throwIfAborted();
      const isItsOwn = error instanceof FleetError && FAILURES.has(error.code);
      if (!isItsOwn) throw error;
      log.warn({ ...taskFields(task), err: error }, 'a long conversation could not be summarized');
    }
    context.failures += 1;
    return undefined;
  }

  return async function makeRoom(): Promise<boolean> {
    let tokens = await size(state.messages);
    if (tokens <= options.pruneShare * limit()) return true;
    tokens = await prune(tokens);
    if (tokens > Math.max(limit(), context.floor + GROWTH * limit())) {
      tokens = await cut(tokens, NEWEST_SHARE * limit());
      if (tokens > limit()) tokens = (await summarize(tokens)) ?? (await reduce(tokens));
      context.floor = tokens;
    }
    if (tokens > ceiling()) tokens = await reduce(tokens);
    if (tokens > ceiling()) {
      tokens = await leaveOut(tokens);
      context.floor = Math.min(context.floor, tokens);
    }
    if (tokens > ceiling()) tokens = await cut(tokens, await roomForNewest(tokens));
    return tokens <= ceiling();
  };

  /** The tokens that the newest results may have so that all fits; at least 0. */
  async function roomForNewest(tokens: number): Promise<number> {
    const newest = state.messages.slice(lastTurn()).filter(({ role }) => role === 'tool');
    const over = OVER_MARGIN * (tokens - ceiling());
    return Math.max(0, (await options.tokensOf(newest)) - over);
  }
}

/** The errors of a model call that leave the conversation as it was. */
const FAILURES: ReadonlySet<string> = new Set(['BUDGET_EXHAUSTED', 'MODEL_FAILED']);
