import { FleetError } from '@hermes-fleet/protocol';
import type { FleetConfig } from './fleet-yaml.ts';

/**
 * Returns the tier of this profile's model: `fleet.tier`, else the only tier whose name is a part of the model's ID.
 * Throws CONFIG_INVALID if there is none.
 */
export function tierOf(config: FleetConfig, modelId: string): string {
  if (config.fleet.tier !== undefined) return config.fleet.tier;
  const named = config.fleet.tiers.filter((tier) => modelId.toLowerCase().includes(tier.toLowerCase()));
  const [tier] = named;
  if (tier !== undefined && named.length === 1) return tier;
  const reason = `model ${modelId} is in no tier: set fleet.tier to one of ${config.fleet.tiers.join(', ')}`;
  throw new FleetError('CONFIG_INVALID', reason, { fields: [{ path: 'fleet.tier', reason }] });
}
