import { type ErrorCode, FleetError } from '@hermes-fleet/protocol';
import { verdictPrompt } from '../messages/asks.ts';
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
import { createLoopConversation, FOLLOW_UP_TOKENS } from './conversation.ts';

/** A review that takes longer is no review. */
const MAX_STEPS = 10;
const MAX_DIFF_CHARS = 40_000;
/** What objections may take, beside the steps that work on them. In tokens. */
const OBJECTION_TOKENS = 1000;

export interface ReviewOptions {
  readonly state: RunState;
  readonly brief: string;
  readonly tools: readonly AgentTool[];
  readonly parts: RunResources;
  /** Makes the run durable as it stands. */
  save(): Promise<void>;
  /** The run's own conversation, which must still be able to work on what is found. */
  readonly main: Conversation;
}

type Closing = Omit<ClosedReview, 'state'>;

/**
 * The second, independent check of a finished run (design 3, B1): a conversation of its own with tools that only look,
 * which gets the brief and the diff, once, inside the run's budget. A crash resumes it where it was. One that does not
 * fit, or breaks off, is closed as such. Returns objections to work on; these the caller makes durable, in one with what
 * it asks about them.
 */
export async function review(o: ReviewOptions): Promise<string[]> {
  const { state } = o;
  if (state.review?.state === 'closed') return [];
  let talk = state.review?.talk;
  if (talk === undefined) {
    const diff = await diffOf(o);
    if (diff === undefined) return close(o, { verdict: 'skipped', detail: 'the diff could not be made' });
    if (diff === '') return [];
    talk = newConversation(reviewMessage(o.brief, diff));
    if (state.wrapped_up || !(await o.main.canAfford(2)) || !(await (await talkOf(talk, o)).canAfford(2)))
      return close(o, { verdict: 'skipped', detail: SKIPPED });
    state.review = { state: 'open', talk };
    await o.save();
  }
  const verdict = await judge(talk, o);
  if ('detail' in verdict) return close(o, verdict);
  const detail = cut(verdict.objections.join('; '));
  state.review = { state: 'closed', verdict: 'objections', detail };
  return verdict.objections;
}

const SKIPPED = 'it does not fit into what is left of the budget or the context window';

async function close({ state, save }: ReviewOptions, closing: Closing): Promise<string[]> {
  state.review = { state: 'closed', ...closing };
  await save();
  return [];
}

/** The run's changes; undefined where git does not say, which must not cost the run its result. */
async function diffOf({ state, parts }: ReviewOptions): Promise<string | undefined> {
  try {
    return await parts.workspace.diffSince(state.base, MAX_DIFF_CHARS);
  } catch (error) {
    parts.signal.throwIfAborted();
    parts.log.error({ task_id: parts.task.id, err: error }, 'the diff for a review could not be made');
    return undefined;
  }
}

/** What the run itself needs to work on objections is not the review's to spend. */
async function talkOf(
  state: ConversationState,
  { tools, parts, main, save }: ReviewOptions,
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
  };
  return createLoopConversation(options, parts);
}

/** What ends a review and not the run. */
const BREAKS: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['BUDGET_EXHAUSTED', 'MODEL_FAILED']);

async function judge(
  state: ConversationState,
  o: ReviewOptions,
): Promise<Closing | { readonly objections: string[] }> {
  try {
    const talk = await talkOf(state, o);
    if (!(await talk.runToEnd())) {
      const detail = talk.guardStop()?.reason ?? `it came to no verdict within ${MAX_STEPS} steps`;
      return { verdict: 'unreadable', detail };
    }
  } catch (error) {
    o.parts.signal.throwIfAborted();
    if (!(error instanceof FleetError) || !BREAKS.has(error.code)) throw error;
    o.parts.log.warn({ task_id: o.parts.task.id, code: error.code, err: error }, 'a review broke off');
    return { verdict: 'failed', detail: error.message };
  }
  return readVerdict(lastText(state.messages));
}
