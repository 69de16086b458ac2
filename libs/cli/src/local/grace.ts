import { join } from 'node:path';
import { FleetConfigSchema } from '@hermes-fleet/fleet-config';
import { createSecretEnv, loadYamlConfig } from '@hermes-fleet/service';
import { CONSOLE, TRADER } from '../keys/layout.ts';
import type { FleetPlan } from './plan.ts';

/** Longer than the default `shutdown.grace_s` of the services. */
export const GRACE_MS = 25_000;
/** Streams close and the outbox is flushed after the drain and the grace period. */
const END_MS = 15_000;

/**
 * How long a service may take to stop, in milliseconds: `shutdown.drain_s` and `shutdown.grace_s` of its fleet.yaml, and the
 * rest of its end. Throws CONFIG_INVALID for a file with which it could not start again.
 */
export function graceOf(plan: Pick<FleetPlan, 'home'>, name: string, env: NodeJS.ProcessEnv): number {
  if (name === CONSOLE) return GRACE_MS;
  const file = join(plan.home, name === TRADER ? name : `profiles/${name}`, 'fleet.yaml');
  const { value } = loadYamlConfig({ file, schema: FleetConfigSchema, env: createSecretEnv(env) });
  const { drain_s, grace_s } = value.fleet.shutdown;
  return (drain_s + grace_s) * 1_000 + END_MS;
}
