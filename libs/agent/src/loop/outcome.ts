import type { Evidence, RunOutcome } from '@hermes-fleet/protocol';
import { doneSoFar, evidenceOf, lastChange, unverified } from '../guards/evidence.ts';
import { type Claim, readFinalMessage } from '../messages/final-message.ts';
import { type ReplyContract, readReply } from '../messages/reply.ts';
import { cut } from '../messages/text.ts';
import type { ClosedReview, RunState } from '../run/run-state.ts';

/** How a run ended: the model finished, or something ended it. */
export type RunEnd =
  | { readonly kind: 'finished'; readonly finishReason: string }
  | {
      readonly kind: 'stopped';
      readonly code: string;
      readonly reason: string;
      readonly retryable: boolean;
      /** It is no failure, even where nothing was done. */
      readonly partial?: boolean;
    };

export interface OutcomeOptions {
  readonly end: RunEnd;
  /** The model's last message. */
  readonly message: string;
  readonly contract: ReplyContract;
  readonly state: Pick<RunState, 'journal' | 'wrapped_up' | 'repaired' | 'review'>;
  /** Whether it was offered commands. */
  readonly canRun: boolean;
  /** Whether it was told what it had not verified: `hooks.verifyBeforeComplete`. */
  readonly verifies: boolean;
  readonly filesChanged: string[];
}

/**
 * The result of a run (design 2, TASK_RESULT). `done` takes more than the model's word: the last thing that it did must
 * not have failed, nothing may be named as left, its reply must fit the contract, a structured one needs a check after the last write, and after a
 * wrap-up it must have said in so many words that nothing is left. What was not verified, not reviewed, or only claimed
 * is said in any case.
 */
export function outcome(o: OutcomeOptions): RunOutcome {
  const { journal, wrapped_up: wrappedUp, repaired } = o.state;
  const last = readFinalMessage(o.message);
  const { text } = last;
  const claim: Claim =
    last.claim === 'unreadable' ? { status: 'done', remaining: [], nextSteps: [] } : last.claim;
  const base = {
    blockedReason: null,
    artifacts: { pr: null, filesChanged: o.filesChanged },
    evidence: [...evidenceOf(journal), ...reviewEvidence(o.state.review), ...claimedEvidence(claim)],
    text,
    nextSteps: [...claim.nextSteps, ...openEnds(o, claim)],
  };
  const partial = (remaining: string[]): RunOutcome => ({ ...base, status: 'partial', remaining });
  if (o.end.kind === 'stopped') {
    const { code, reason: message, retryable } = o.end;
    if (o.end.partial || doneSoFar(journal) !== undefined)
      return partial([...claim.remaining, beyond(journal, message)]);
    return { ...base, status: 'error', error: { code, message, retryable } };
  }
  if (claim.status === 'error') {
    const message = 'the agent could not do what the brief asks; its text says why';
    const unfinished = claim.remaining.length > 0 ? { remaining: claim.remaining } : {};
    const error = { code: 'task_failed', message, retryable: false };
    return { ...base, ...unfinished, status: 'error', error };
  }
  if (claim.status === 'partial') {
    if (claim.remaining.length > 0) return partial(claim.remaining);
    return partial([beyond(journal, 'the model says that it is not done, and does not name what is left')]);
  }
  // A reply is only asked for again where the first one stated that all is done.
  if (wrappedUp && !repaired && !last.stated)
    return partial([
      beyond(journal, 'the token budget was nearly spent, and the model named nothing that is left'),
    ]);
  const reply = readReply(last, o.contract);
  const doubts = [...claim.remaining.filter(isLeft), ...doubtsOf(o, o.end.finishReason), ...reply.problems];
  if (doubts.length > 0) return partial(doubts);
  return 'output' in reply ? { ...base, status: 'done', output: reply.output } : { ...base, status: 'done' };
}

/** Some fill in a word where a list is to be empty. */
const isLeft = (line: string): boolean => !/^\W*(?:(?:none|nothing|n\/a)\W*)?$/i.test(line);

const beyond = (journal: OutcomeOptions['state']['journal'], reason: string): string =>
  `what the brief asks for beyond the work so far (${doneSoFar(journal) ?? 'nothing'}): ${reason}`;

function doubtsOf({ state: { journal }, contract, canRun }: OutcomeOptions, finishReason: string): string[] {
  const doubts: string[] = [];
  if (finishReason === 'length') doubts.push('the end of the answer: it was cut at the output limit');
  if (['content-filter', 'error'].includes(finishReason)) {
    doubts.push(`the end of the answer: the model stopped (${finishReason})`);
  }
  const last = lastChange(journal);
  if (last?.unknown)
    doubts.push(`what the last ${last.tool} came to is not known: ${cut(last.detail ?? '')}`);
  else if (last?.ok === false)
    doubts.push(`the last ${last.tool} failed: ${cut(last.detail ?? 'its call could not be carried out')}`);
  if (contract.kind === 'structured' && unverified(journal, canRun).files.length > 0)
    doubts.push('nothing was verified after the last write');
  return doubts;
}

/** What somebody should still do, since nobody has. */
function openEnds({ state: { journal, review }, canRun, verifies }: OutcomeOptions, { pr }: Claim): string[] {
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
  ];
}

const UNREVIEWED: Readonly<Record<ClosedReview['verdict'], string | undefined>> = {
  ok: undefined,
  objections: undefined,
  not_judged: 'the second check did not judge them',
  unreadable: 'the second check gave no verdict that can be read',
  skipped: 'the second check was left out',
  failed: 'the second check broke off',
};

function unreviewed(review: NonNullable<RunState['review']>): string[] {
  if (review.state === 'open') return ['review the changes: the second check did not come to its end'];
  const why = UNREVIEWED[review.verdict];
  return why === undefined ? [] : [`review the changes: ${why}${because(review.detail)}`];
}

const because = (detail: string): string => (detail === '' ? '' : ` (${detail})`);

const VERDICTS: Readonly<Record<ClosedReview['verdict'], string | undefined>> = {
  ok: 'no objections',
  objections: 'objections, handed back once',
  not_judged: 'not judged',
  unreadable: 'no verdict that can be read',
  skipped: undefined,
  failed: undefined,
};

/** A review that took place. */
function reviewEvidence(review: RunState['review']): Evidence[] {
  if (review?.state !== 'closed') return [];
  const verdict = VERDICTS[review.verdict];
  if (verdict === undefined) return [];
  return [{ kind: 'review', detail: review.detail === '' ? verdict : `${verdict}: ${review.detail}` }];
}

const claimedEvidence = ({ pr }: Claim): Evidence[] =>
  pr === undefined ? [] : [{ kind: 'claimed', detail: `pull request ${cut(pr)}` }];
