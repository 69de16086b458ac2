import { type ErrorCode, FleetError } from '@hermes-fleet/protocol';
import { taskFields } from '@hermes-fleet/protocol/ports';
import { createLoopConversation, FOLLOW_UP_TOKENS } from '../conversation/loop-conversation.ts';
import { verdictPrompt } from '../messages/follow-up-prompts.ts';
import { lastText } from '../messages/history.ts';
import { REVIEW_TOOLS, readVerdict, reviewInstructions, reviewMessage } from '../messages/review-prompt.ts';
import { cut } from '../messages/text.ts';
import type { AgentTool, Conversation, RunResources } from '../run/conversation.ts';
import {
  type ClosedReview,
  type ConversationState,
  newConversation,
  type RunState,
} from '../run/run-state.ts';

const MAX_STEPS = 10;
const MAX_DIFF_CHARS = 40_000;
/** Tokens reserved for objections, besides the steps that address them. */
const OBJECTION_TOKENS = 1000;

interface ReviewOptions {
  readonly state: RunState;
  readonly brief: string;
  readonly tools: readonly AgentTool[];
  readonly resources: RunResources;
  save(): Promise<void>;
  /** The run's own conversation, which must be able to address the objections. */
  readonly main: Conversation;
}

type Verdict = Omit<ClosedReview, 'state'>;

/**
 * Reviews a finished run in a conversation of its own, once and within the run's budget (docs/agent.md#guards). Returns the
 * objections; the caller saves the closed review together with their prompt.
 */
export async function review(options: ReviewOptions): Promise<string[]> {
  const { state, main } = options;
  if (state.review?.state === 'closed') return [];
  let conversation = state.review?.talk;
  if (conversation === undefined) {
    const diff = await diffOf(options);
    if (diff === undefined)
      return close(options, { verdict: 'skipped', detail: 'the diff could not be created' });
    if (diff === '') return [];
    conversation = newConversation(reviewMessage(options.brief, diff));
    const fits =
      !state.wrapped_up &&
      (await main.canAfford(2)) &&
      (await (await reviewConversation(conversation, options)).canAfford(2));
    if (!fits) return close(options, { verdict: 'skipped', detail: SKIPPED });
    state.review = { state: 'open', talk: conversation };
  }
  const verdict = await judge(conversation, options);
  if ('detail' in verdict) return close(options, verdict);
  const detail = cut(verdict.objections.join('; '));
  const { objections } = verdict;
  state.review = {
    state: 'closed',
    verdict: 'objections',
    detail,
    objections,
    journal: state.journal.length,
  };
  return verdict.objections;
}

const NO_VERDICT = `it reached no verdict within ${MAX_STEPS} steps`;
const SKIPPED = 'it does not fit into what is left of the budget or the context window';

async function close({ state, save }: ReviewOptions, verdict: Verdict): Promise<string[]> {
  state.review = { state: 'closed', ...verdict };
  await save();
  return [];
}

/** The run's changes; undefined when git fails, which must not cost the run its result. */
async function diffOf({ state, resources }: ReviewOptions): Promise<string | undefined> {
  const { workspace, signal, log, task } = resources;
  try {
    return await workspace.diffSince(state.base, MAX_DIFF_CHARS);
  } catch (error) {
    signal.throwIfAborted();
    log.error({ ...taskFields(task), err: error }, 'the diff for a review could not be made');
    return undefined;
  }
}

/** Keeps the tokens that the run needs to address objections. */
async function reviewConversation(
  state: ConversationState,
  { tools, resources, main, save }: ReviewOptions,
): Promise<Conversation> {
  const options = {
    state,
    save,
    key: 'review/',
    instructions: reviewInstructions(),
    tools: tools.filter(({ name }) => REVIEW_TOOLS.has(name)),
    maxSteps: MAX_STEPS,
    keepTokens: 2 * ((await main.inputTokens()) + FOLLOW_UP_TOKENS) + OBJECTION_TOKENS,
    wrapUpPrompt: verdictPrompt,
    progressFields: { review: true },
    streamsText: false,
    savesStart: true,
  };
  return createLoopConversation(options, resources);
}

/** Errors that end a review but not its run. */
const REVIEW_ERRORS: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['BUDGET_EXHAUSTED', 'MODEL_FAILED']);

async function judge(
  state: ConversationState,
  options: ReviewOptions,
): Promise<Verdict | { readonly objections: string[] }> {
  const { signal, log, task } = options.resources;
  try {
    const conversation = await reviewConversation(state, options);
    if (!(await conversation.runToEnd())) {
      return { verdict: 'unreadable', detail: conversation.guardStop()?.reason ?? NO_VERDICT };
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof FleetError) || !REVIEW_ERRORS.has(error.code)) throw error;
    log.warn({ ...taskFields(task), code: error.code, err: error }, 'a review was interrupted');
    return { verdict: 'failed', detail: error.message };
  }
  const text = lastText(state.messages);
  return text === '' && state.wrapped_up_for === 'steps'
    ? { verdict: 'unreadable', detail: NO_VERDICT }
    : readVerdict(text);
}
