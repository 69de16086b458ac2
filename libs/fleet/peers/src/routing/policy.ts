import type { FleetConfig } from '@hermes-fleet/fleet-config';
import { PROTOCOL_VERSIONS } from '@hermes-fleet/protocol';
import type { TaskDispatch } from '@hermes-fleet/protocol/handshake';

export interface RoutingPolicy {
  /** The asking profile, which is never chosen. */
  readonly self: string;
  /** Handshake versions that the asking profile supports. */
  readonly versions: readonly string[];
  /** All tiers, smallest first. */
  readonly tiers: readonly string[];
  readonly smallBelowTokens: number;
  readonly largeAboveTokens: number;
  readonly byPriority?: Readonly<Partial<Record<string, string>>>;
  /** Tokens of the brief; 0 if it fits every window. */
  readonly briefTokens?: number;
  /** The number of our tasks that may wait at one peer while others keep it busy; default: 1. */
  readonly buffer?: number;
  /** The task has waited for a slot, and may wait in the queue of a peer that others keep busy. */
  readonly mayQueue?: boolean;
  /** The only peer that may get the task for now, because it has the task's context. */
  readonly home?: string | undefined;
  /** Peers that have refused this task, with the reason. */
  readonly excluded?: ReadonlyMap<string, string>;
}

export function routingPolicy(
  config: FleetConfig,
  self: string,
  versions: readonly string[] = PROTOCOL_VERSIONS,
): RoutingPolicy {
  const { tiers, routing } = config.fleet;
  return {
    self,
    versions,
    tiers,
    smallBelowTokens: routing.tiers.small_below_tokens,
    largeAboveTokens: routing.tiers.large_above_tokens,
    buffer: routing.buffer,
    ...(routing.tiers.by_priority ? { byPriority: routing.tiers.by_priority } : {}),
  };
}

/**
 * Returns the preferred tier of a task: the requested one, else one by priority and budget, so that a small task does not
 * use a large model, nor a large task a small one (docs/handshake.md#routing).
 */
export function preferredTier(dispatch: TaskDispatch, policy: RoutingPolicy): string | undefined {
  const asked = dispatch.requirements?.modelTier?.prefer;
  if (asked !== undefined) return asked;
  const { priority = 'normal', tokenBudget } = dispatch.task;
  const ruled = policy.byPriority?.[priority];
  if (ruled !== undefined) return ruled;
  const { tiers } = policy;
  if (priority === 'low' || (tokenBudget !== undefined && tokenBudget < policy.smallBelowTokens))
    return tiers[0];
  if (priority === 'urgent' || (tokenBudget !== undefined && tokenBudget > policy.largeAboveTokens))
    return tiers.at(-1);
  return tiers[Math.floor((tiers.length - 1) / 2)];
}
