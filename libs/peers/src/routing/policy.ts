import type { FleetConfig } from '@hermes-fleet/fleet-config';
import { PROTOCOL_VERSIONS, type TaskDispatch } from '@hermes-fleet/protocol';

/** What routing goes by beside the dispatch and the peers. */
export interface RoutingPolicy {
  /** The asking profile: never chosen. */
  readonly self: string;
  /** The handshake versions that the asking profile speaks. */
  readonly versions: readonly string[];
  /** All tiers, smallest first. */
  readonly tiers: readonly string[];
  readonly smallBelowTokens: number;
  readonly largeAboveTokens: number;
  readonly byPriority?: Readonly<Partial<Record<string, string>>>;
  /** Tokens of the brief, 0 when it fits every window anyway. */
  readonly briefTokens?: number;
  /** Peers that this task must not go to again, and why. */
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
    ...(routing.tiers.by_priority ? { byPriority: routing.tiers.by_priority } : {}),
  };
}

/**
 * The tier that suits a task: what it asks for, else by priority and budget, so that small work burns no large model
 * and hard work does not go to a small one (design 2, Routing).
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
