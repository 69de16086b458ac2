import type { Concern, Runtime, Strategy } from '@hermes-fleet/market';
import { type ControlDecision, controlFingerprint } from '@hermes-fleet/protocol/control';
import type { Caller, Clock, Log } from '@hermes-fleet/protocol/ports';
import { type Access, BREAKER, mayTouch } from './access.ts';
import { whyUnrunnable } from './actions.ts';
import type { Activation } from './activation.ts';
import type { Applier } from './apply-or-roll-back.ts';
import type { ConcernLock } from './concern-lock.ts';
import type { AttemptRecord, ControlStore, StoredFacts } from './control-store.ts';
import type { Answer } from './decision-service.ts';
import type { Facts, Policy } from './facts.ts';
import type { Verdict } from './judge.ts';
import type { Holds } from './unwritten-restrictions.ts';

/** A well-formed decision that passed the screening. */
export interface ScreenedAttempt {
  readonly caller: Caller;
  readonly record: AttemptRecord;
  readonly decision: ControlDecision;
}

/** An answer; `isAudited` if the store has audited the attempt. */
export type Ruling = Answer & { readonly isAudited: boolean };

export interface DecideParts {
  readonly store: ControlStore;
  readonly runtime: Pick<Runtime, 'health' | 'preflight'>;
  readonly activation: Activation;
  readonly applier: Applier;
  readonly concernLock: ConcernLock;
  readonly holds: Holds;
  readonly access: Access;
  readonly policy: Policy;
  /** Why the audit is broken. */
  readonly brokenAudit: () => string | undefined;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
}

/** A verdict with the facts that it rests on. */
export interface Seen {
  readonly facts: Facts;
  readonly verdict: Verdict;
}

/** A dry run asks what the decision itself would get, so it has its fingerprint. */
export const fingerprintOf = (decision: ControlDecision): string =>
  controlFingerprint({ ...decision, dryRun: false });

/** The stored facts that the caller may see, with those of the runtime. */
export function factsOf(
  options: DecideParts,
  { caller, decision }: ScreenedAttempt,
  stored: StoredFacts,
): Facts {
  const own = <T extends Concern | Strategy>(each: T | undefined): T | undefined =>
    each !== undefined && mayTouch(options.access, caller, each.accountId) ? each : undefined;
  const concern = own(stored.concern);
  const target = own(stored.target);
  const active = own(stored.active);
  return {
    now: options.clock.now(),
    concern,
    target,
    active,
    previous: stored.previous,
    policy: options.policy,
    degraded:
      concern !== undefined &&
      (options.activation.isOutOfSync(concern.id) || options.runtime.health(concern.id).degraded),
    brokenAudit: options.brokenAudit(),
    onlyRestricts: caller.name === BREAKER,
    unrunnable: whyUnrunnable(decision, { target, active }, options.runtime),
  };
}
