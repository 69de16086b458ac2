import { type FleetConfig, FleetConfigSchema } from '@hermes-fleet/fleet-config';
import { TIERS } from '../load/workload.ts';

export const ORCHESTRATOR = 'switch';
export const VERSIONS = ['2.0'];
/** The largest numbers that fleet.yaml allows. */
const SERVER = { bind_port: 9219, auth_required: false };

/** The address of a profile in the simulated network. */
export const urlOf = (name: string): string => `http://${name}/jsonrpc`;
const MOST = { relayed: 10_000, waiting: 100_000 };

/** fleet.yaml of a worker with so many slots; the rest are its defaults. */
export function workerConfig(slots: number): FleetConfig {
  return FleetConfigSchema.parse({
    fleet: { role: 'worker', server: SERVER, tiers: TIERS, limits: { max_concurrent_tasks: slots } },
  });
}

/** The same configuration for the worker with this name. */
export function configOf(name: string, config: FleetConfig): FleetConfig {
  const { server } = config.fleet;
  return {
    ...config,
    fleet: { ...config.fleet, ...(server && { server: { ...server, public_url: urlOf(name) } }) },
  };
}

/** fleet.yaml of an orchestrator that gives all slots of its workers work, if the limits allow it. */
export function orchestratorConfig(slots: number): FleetConfig {
  return FleetConfigSchema.parse({
    fleet: {
      role: 'orchestrator',
      server: SERVER,
      orchestrate: true,
      tiers: TIERS,
      limits: { max_relayed_tasks: Math.min(MOST.relayed, slots) },
      queue: { max_waiting: MOST.waiting },
    },
  });
}
