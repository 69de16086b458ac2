import { type ErrorCode, FleetError } from '@hermes-fleet/protocol';
import type { Evidence, Unmet } from '@hermes-fleet/protocol/handshake';
import type { RunOutcome } from '@hermes-fleet/protocol/ports';
import { doneSoFar, evidenceOf, lastChange, unverified } from '../guards/evidence.ts';
import { type Claim, DONE, readFinalMessage } from '../messages/final-message.ts';
import { type ReplyContract, readReply } from '../messages/reply.ts';
import { cut } from '../messages/text.ts';
import { type UnfinishedEnding, unfinishedEnding } from '../messages/unfinished-ending.ts';
import type { ClosedReview, GuardStop, RunState } from '../run/run-state.ts';
import { forgeNextSteps } from './forge-files.ts';
import { ignoredObjections } from './objections.ts';

export type RunEnd =
  | { readonly kind: 'finished'; readonly finishReason: string }
  | StoppedRun
  | { readonly kind: 'blocked'; readonly unmet: Unmet };

/** A run that ended before the model finished. */
interface StoppedRun {
  readonly kind: 'stopped';
  readonly code: string;
  readonly reason: string;
  readonly retryable: boolean;
  /** The result is `partial`, even if no work was done. */
  readonly partial?: boolean;
}

export const stoppedByGuard = ({ guard, reason }: GuardStop, step: number): StoppedRun => ({
  kind: 'stopped',
  code: 'in_circles',
  reason: `the ${guard} guard ended the run after step ${step}: ${reason}`,
  retryable: false,
  partial: true,
});

export const stoppedByStepLimit = (maxSteps: number): StoppedRun => ({
  kind: 'stopped',
  code: 'step_limit',
  reason: `the limit of ${maxSteps} steps is reached`,
  retryable: false,
});

/** Errors that end a run but keep its work. */
const STOPS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'BUDGET_EXHAUSTED',
  'MODEL_FAILED',
  'DEADLINE_EXCEEDED',
  'CANCELED',
  'CAPACITY',
]);

/** Returns undefined for an error that fails the run without a result. */
export function stoppedByError(error: unknown, step: number): StoppedRun | undefined {
  if (!(error instanceof FleetError) || !STOPS.has(error.code)) return undefined;
  const reason = `stopped after step ${step}: ${error.message}`;
  return { kind: 'stopped', code: error.code.toLowerCase(), reason, retryable: error.retryable };
}

interface OutcomeOptions {
  readonly end: RunEnd;
  readonly message: string;
  readonly contract: ReplyContract;
  readonly state: Pick<RunState, 'journal' | 'wrapped_up' | 'wrapped_up_for' | 'repaired' | 'review'>;
  /** `limits.max_steps`. */
  readonly maxSteps: number;
  /** True when `shell_exec` was offered. */
  readonly canRun: boolean;
  /** The model's names of the tools that were offered. */
  readonly tools: ReadonlySet<string>;
  /** `hooks.verifyBeforeComplete`. */
  readonly verifies: boolean;
  readonly filesChanged: string[];
}

/**
 * Builds the result of a run (docs/handshake.md#task_result): `done` needs more than the model's claim. Work that is
 * unverified, unreviewed or only claimed is always reported.
 */
export function outcomeOf(options: OutcomeOptions): RunOutcome {
  const { end, state } = options;
  const { journal } = state;
  const last = readFinalMessage(options.message);
  const claim: Claim = last.claim === 'unreadable' ? DONE : last.claim;
  const base = {
    blockedReason: null,
    artifacts: { pr: null, filesChanged: options.filesChanged },
    evidence: [...evidenceOf(journal), ...reviewEvidence(state.review), ...claimedEvidence(claim)],
    text: last.text,
    nextSteps: [...claim.nextSteps, ...openNextSteps(options, claim)],
  };
  const partial = (remaining: string[]): RunOutcome => ({ ...base, status: 'partial', remaining });
  if (end.kind === 'blocked') return { ...blocked(end.unmet), artifacts: base.artifacts };
  if (end.kind === 'stopped') {
    const { code, reason: message, retryable } = end;
    if (end.partial || doneSoFar(journal) !== undefined)
      return partial([...claim.remaining, unfinished(journal, message)]);
    return { ...base, status: 'error', error: { code, message, retryable } };
  }
  if (claim.status === 'error') {
    const message = 'the agent could not do what the brief asks; its text says why';
    const remaining = claim.remaining.length > 0 ? { remaining: claim.remaining } : {};
    const error = { code: 'task_failed', message, retryable: false };
    return { ...base, ...remaining, status: 'error', error };
  }
  if (claim.status === 'partial') {
    if (claim.remaining.length > 0) return partial(claim.remaining);
    return partial([
      unfinished(journal, 'the model says that it is not done, and does not name what is left'),
    ]);
  }
  // A repaired reply needs no statement: repair is requested only after a claim that all is done.
  if (state.wrapped_up && !state.repaired && !last.stated)
    return partial([
      unfinished(journal, `${wrappedUpFor(options)}, and the model named nothing that is left`),
    ]);
  const reply = readReply(last, options.contract);
  const remaining = [
    ...claim.remaining.filter(namesWork),
    ...doubts(options, end.finishReason),
    ...reply.problems,
  ];
  if (remaining.length > 0) return partial(remaining);
  return 'output' in reply ? { ...base, status: 'done', output: reply.output } : { ...base, status: 'done' };
}

function wrappedUpFor({ state, maxSteps }: OutcomeOptions): string {
  if (state.wrapped_up_for === 'steps') return stoppedByStepLimit(maxSteps).reason;
  if (state.wrapped_up_for === 'window') return "the conversation filled the model's context window";
  return 'the token budget was nearly spent';
}

/** False for the placeholders that some models put in an empty list. */
const namesWork = (line: string): boolean => !/^\W*(?:(?:none|nothing|n\/a)\W*)?$/i.test(line);

const unfinished = (journal: RunState['journal'], reason: string): string =>
  `what the brief asks for beyond the work so far (${doneSoFar(journal) ?? 'nothing'}): ${reason}`;

/** Why a last message is no end (docs/agent.md#endings). The text of a JSON reply is judged by its contract alone. */
export function endingOf(
  { message, contract, tools }: Pick<OutcomeOptions, 'message' | 'contract' | 'tools'>,
  finishReason: string | undefined,
): UnfinishedEnding | undefined {
  const said = contract.kind === 'json' ? undefined : unfinishedEnding(message, tools);
  return said ?? (finishReason === 'tool-calls' ? 'promise' : undefined);
}

/** The reasons not to believe a claim that all is done. */
function doubts(options: OutcomeOptions, finishReason: string): string[] {
  const { state, contract, canRun, message } = options;
  const { journal, review } = state;
  const found: string[] = [];
  const ending = endingOf(options, finishReason);
  if (ending !== undefined) found.push(`${ENDINGS[ending]}: ${cut(lastLine(message)) || 'no text'}`);
  found.push(
    ...ignoredObjections(review, journal, message).map((line) => `an objection of the review: ${line}`),
  );
  if (finishReason === 'length') found.push('the end of the answer: it was cut at the output limit');
  if (['content-filter', 'error'].includes(finishReason)) {
    found.push(`the end of the answer: the model stopped (${finishReason})`);
  }
  const last = lastChange(journal);
  if (last?.unknown) found.push(`the outcome of the last ${last.tool} is unknown: ${cut(last.detail ?? '')}`);
  else if (last?.ok === false)
    found.push(`the last ${last.tool} failed: ${cut(last.detail ?? 'its call could not be carried out')}`);
  if (contract.kind === 'structured' && unverified(journal, canRun).files.length > 0)
    found.push('nothing was verified after the last write');
  return found;
}

const ENDINGS: Readonly<Record<UnfinishedEnding, string>> = {
  intention: 'what the last message announces and does not do',
  call: 'the tool call that the last message holds as text, which was not carried out',
  promise: 'the tool call that the last message ended for, and that did not come',
};

const lastLine = (message: string): string =>
  message
    .trim()
    .split('\n')
    .findLast((line) => /[\p{L}\p{N}]/u.test(line)) ?? '';

/** Steps for the caller: verify, review or confirm what the run did not, and look at what a forge would run. */
function openNextSteps(
  { state: { journal, review }, canRun, verifies, filesChanged }: OutcomeOptions,
  { pr }: Claim,
): string[] {
  const { files, why } = unverified(journal, canRun);
  const doubt = why === undefined ? '' : ` (${why})`;
  const off = verifies ? '' : '; it was not asked to, since verifyBeforeComplete is off';
  return [
    ...(files.length > 0
      ? [`verify ${cut(files.join(', '))}: nothing was checked after the last write${doubt}${off}`]
      : []),
    ...(review === undefined ? [] : unreviewed(review)),
    ...(pr === undefined
      ? []
      : [`confirm the pull request ${cut(pr)}: the model claims it, and nothing confirms it`]),
    ...forgeNextSteps(filesChanged),
  ];
}

/** What the verdict of a review is as evidence, and what the second check did where the changes are still to be reviewed. */
const VERDICTS: Readonly<Record<ClosedReview['verdict'], { evidence?: string; why?: string }>> = {
  ok: { evidence: 'no objections' },
  objections: { evidence: 'objections, handed back once' },
  not_judged: { evidence: 'not judged', why: 'did not judge them' },
  unreadable: { evidence: 'no readable verdict', why: 'gave no readable verdict' },
  skipped: { why: 'was left out' },
  failed: { why: 'was interrupted' },
};

function unreviewed(review: NonNullable<RunState['review']>): string[] {
  if (review.state === 'open') return ['review the changes: the second check did not finish'];
  const { why } = VERDICTS[review.verdict];
  if (why === undefined) return [];
  return [`review the changes: the second check ${why}${review.detail === '' ? '' : ` (${review.detail})`}`];
}

function reviewEvidence(review: RunState['review']): Evidence[] {
  if (review?.state !== 'closed') return [];
  const { evidence } = VERDICTS[review.verdict];
  if (evidence === undefined) return [];
  return [{ kind: 'review', detail: review.detail === '' ? evidence : `${evidence}: ${review.detail}` }];
}

const claimedEvidence = ({ pr }: Claim): Evidence[] =>
  pr === undefined ? [] : [{ kind: 'claimed', detail: `pull request ${cut(pr)}` }];

/** The outcome of a task that cannot begin here, for the reasons given. */
export const blocked = (...unmet: Unmet[]): RunOutcome => ({
  status: 'blocked',
  blockedReason: unmet.map(({ detail }) => detail).join('; '),
  unmet,
  nextSteps: [],
  artifacts: { pr: null, filesChanged: [] },
});
