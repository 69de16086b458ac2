import { FleetError } from '@hermes-fleet/protocol';
import type { FleetConfig } from './config.ts';

/**
 * The tier of this profile's model: `fleet.tier`, else the one tier whose name the model's id contains. A model that
 * neither places is CONFIG_INVALID, not a guess (design 2, SESSION_ANNOUNCE).
 */
export function tierOf(config: FleetConfig, modelId: string): string {
  if (config.fleet.tier !== undefined) return config.fleet.tier;
  const named = config.fleet.tiers.filter((tier) => modelId.toLowerCase().includes(tier.toLowerCase()));
  const [tier] = named;
  if (tier !== undefined && named.length === 1) return tier;
  const reason = `model ${modelId} is in no tier: set fleet.tier to one of ${config.fleet.tiers.join(', ')}`;
  throw new FleetError('CONFIG_INVALID', reason, { fields: [{ path: 'fleet.tier', reason }] });
}
