import { initKeys } from '../keys/init.ts';
import type { FleetPlan } from './plan.ts';

/** Makes the missing keys of a fleet of processes, and writes the configuration of its NATS, which listens on this machine only. */
export function makeProcessKeys(
  plan: Pick<FleetPlan, 'keysDir' | 'members' | 'natsStoreDir' | 'nats'>,
  syncAlways: boolean,
): void {
  initKeys({
    dir: plan.keysDir,
    services: plan.members.map(({ name }) => name),
    nats: { storeDir: plan.natsStoreDir, host: '127.0.0.1', port: plan.nats.port, syncAlways },
  });
}
