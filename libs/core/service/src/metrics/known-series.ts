import { UnmetKind } from '@hermes-fleet/protocol/handshake';
import type { registerFamilies } from './families.ts';
import {
  COMPACTIONS,
  GUARDS,
  MODEL_CALLS,
  NO_TIER,
  OVERRUNS,
  PUSH_RESULTS,
  QUEUES,
  RESULTS,
  RETRIES,
  STATUSES,
  TOKEN_TYPES,
} from './known-labels.ts';
import { OTHER } from './labels.ts';

/** Shows each series whose labels are known before it is recorded with 0, so that its first increase is seen. */
export function startKnownSeries(
  families: ReturnType<typeof registerFamilies>,
  {
    profile,
    peers,
    callers,
    tiers,
  }: {
    readonly profile: string;
    readonly peers: readonly string[];
    readonly callers: readonly string[];
    readonly tiers: readonly string[];
  },
): void {
  for (const caller of new Set([...callers, OTHER])) {
    for (const model_tier of tiers) {
      for (const type of TOKEN_TYPES) families.tokensSpent.inc({ profile, caller, model_tier, type }, 0);
    }
  }
  for (const model_tier of tiers) families.tokenDrift.zero({ profile, model_tier });
  for (const model_tier of new Set([...tiers, NO_TIER])) {
    for (const status of STATUSES) {
      families.tasks.inc({ profile, model_tier, status }, 0);
      families.taskDuration.zero({ profile, model_tier, status });
      families.taskTurnaround.zero({ profile, model_tier, status });
    }
  }
  families.admissions.inc({ profile, decision: 'accepted', reason: 'none' }, 0);
  for (const reason of UnmetKind.options)
    families.admissions.inc({ profile, decision: 'blocked', reason }, 0);
  for (const kind of UnmetKind.options) families.peerRefusals.inc({ kind }, 0);
  for (const peer of peers) {
    families.peerLastAnnounce.set({ peer }, 0);
    for (const direction of ['in', 'out']) {
      for (const result of RESULTS) families.announces.inc({ peer, direction, result }, 0);
    }
  }
  for (const gauge of [families.queueDepth, families.queueOldestAge])
    for (const queue of QUEUES) gauge.set({ queue }, 0);
  for (const reason of RETRIES) families.retries.inc({ reason }, 0);
  for (const intervention of GUARDS) families.guards.inc(intervention, 0);
  for (const action of OVERRUNS) families.budgetOverruns.inc({ action }, 0);
  for (const outcome of MODEL_CALLS) families.modelCall.zero({ outcome });
  for (const stage of COMPACTIONS) families.compactions.inc({ stage }, 0);
  for (const result of RESULTS) families.eventsPublished.inc({ result }, 0);
  for (const result of PUSH_RESULTS) families.pushAttempts.inc({ result }, 0);
}
