import type { PeerProfile } from '@hermes-fleet/peers';
import { backoffMs } from '@hermes-fleet/protocol';
import type { DelegationOutcome } from './delegation/delegate-options.ts';
import type { Refusal } from './relay-state.ts';

/** Limits of what is kept of a refusal in the checkpoint, the attempt and the result. */
const MAX_UNMET = 50;
const MAX_REASON = 500;
const truncate = (text: string): string => text.slice(0, MAX_REASON);

const LONGEST_MS = 30_000;
/** A peer that refused is not asked for 1–2 s, then twice as long each time, up to 30 s; half of it is jitter. */
const BACKOFF = { firstMs: 2_000, longestMs: LONGEST_MS };

/** A task that failed at a peer stays known there: asked again, the peer answers with the same failure and the same tokens. */
const NEVER_AGAIN = Number.MAX_SAFE_INTEGER;

type Outcome = DelegationOutcome | { readonly kind: 'failed' };
type Reason = Pick<Refusal, 'reason' | 'unmet' | 'transient'> & { readonly answered: boolean };

/** Returns the refusal if the peer did not accept the task, so that another peer may get it; else undefined. */
export function refusalOf(
  outcome: Outcome,
  peer: string,
  before: readonly Refusal[],
  { now, random }: { readonly now: number; readonly random: () => number },
): Refusal | undefined {
  const reason = reasonOf(outcome);
  if (!reason) return undefined;
  const { answered, ...refused } = reason;
  const times = (before.find((refusal) => refusal.peer === peer)?.times ?? 0) + 1;
  const until = failedAtOnce(outcome) ? NEVER_AGAIN : now + backoffMs(times, { ...BACKOFF, random });
  const longest = Math.max(until, now + backoffMs(1, { firstMs: LONGEST_MS, longestMs: LONGEST_MS, random }));
  const silentUntil = answered ? longest : until;
  return { ...refused, peer, at: now, times, until, ...(refused.transient ? { silentUntil } : {}) };
}

/** Errors that can end a task before its work begins. */
const BEGINNING_FAILED: ReadonlySet<string | undefined> = new Set([
  'model_failed',
  'internal',
  'capacity',
  'budget_exhausted',
]);

/**
 * True for a task that failed at the peer before a model answered, and so before any tool ran: another peer may get it.
 * Input that was metered for the call counts as spent.
 */
export function failedAtOnce(outcome: Outcome): boolean {
  if (outcome.kind !== 'result') return false;
  const { status, error, usage, artifacts } = outcome.result;
  if (status !== 'error' || !BEGINNING_FAILED.has(error?.code) || usage === undefined) return false;
  const { outputTokens, delegatedTokens = 0, source } = usage;
  const hasWorked = outputTokens > 0 || delegatedTokens > 0 || artifacts.filesChanged.length > 0;
  return source !== 'reported' && !hasWorked;
}

/** True if the peer refused only because it has no free slot: that says nothing about the task. */
export function isTurnedAway(outcome: Outcome): boolean {
  if (outcome.kind !== 'result' || outcome.result.status !== 'blocked') return false;
  const { unmet = [] } = outcome.result;
  return unmet.length > 0 && unmet.every(({ kind, transient }) => kind === 'capacity' && transient);
}

/** Adds a refusal as the last one, replacing the peer's earlier refusal. */
export function withRefusal(before: readonly Refusal[], refusal: Refusal): Refusal[] {
  return [...before.filter(({ peer }) => peer !== refusal.peer), refusal];
}

/**
 * True while a refusal excludes its peer: always during its pause, so that a peer with unstable health is not asked again
 * and again; then until the peer announces itself, or for 30 s if the reason is transient.
 */
export function isInForce(
  refusal: Refusal,
  peer: Pick<PeerProfile, 'receivedAt'> | undefined,
  now: number,
): boolean {
  if (now < refusal.until) return true;
  if ((peer?.receivedAt ?? 0) > refusal.at) return false;
  return refusal.silentUntil === undefined || now < refusal.silentUntil;
}

function reasonOf(outcome: Outcome): Reason | undefined {
  if (outcome.kind === 'refused') {
    const answered = outcome.declined ?? false;
    return { reason: truncate(outcome.reason), unmet: [], transient: !answered, answered };
  }
  if (outcome.kind !== 'result') return undefined;
  const { status, blockedReason, unmet = [], error } = outcome.result;
  if (failedAtOnce(outcome)) {
    const reason = truncate(`${error?.code}: ${error?.message}`);
    return { reason, unmet: [], transient: false, answered: true };
  }
  if (status !== 'blocked') return undefined;
  const kept = unmet
    .slice(0, MAX_UNMET)
    .map((entry) => ({ ...entry, name: truncate(entry.name), detail: truncate(entry.detail) }));
  const transient = kept.length > 0 && kept.every((entry) => entry.transient);
  return { reason: truncate(blockedReason ?? 'blocked'), unmet: kept, transient, answered: true };
}
