import type { Delegated } from './delegate.ts';
import type { Refusal } from './state.ts';

/** What is kept of a refusal: it goes into the checkpoint, into its attempt and into the result. */
const MAX_UNMET = 50;
const MAX_REASON = 500;
const short = (text: string): string => text.slice(0, MAX_REASON);

/** Why the peer did not take the task, which is for another one then; undefined where it did. */
export function refusalOf(
  delegated: Delegated | { readonly kind: 'failed' },
  peer: string,
): Refusal | undefined {
  if (delegated.kind === 'refused') return { peer, reason: delegated.reason, unmet: [] };
  if (delegated.kind !== 'result' || delegated.result.status !== 'blocked') return undefined;
  const { blockedReason, unmet = [] } = delegated.result;
  const theirs = unmet
    .slice(0, MAX_UNMET)
    .map((entry) => ({ ...entry, name: short(entry.name), detail: short(entry.detail) }));
  return { peer, reason: short(blockedReason ?? 'blocked'), unmet: theirs };
}
