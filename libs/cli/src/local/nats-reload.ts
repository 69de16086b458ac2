import { type Clock, FleetError } from '@hermes-fleet/protocol';
import { runningProcess } from './pid-file.ts';
import type { FleetPlan } from './plan.ts';

const INTERVAL_MS = 50;
const GIVE_UP_MS = 10_000;
const REQUEST_MS = 2_000;

/**
 * Has the NATS server that runs read its configuration again: a service that was added is a user that it does not know.
 * Throws CONFIG_INVALID when it does not take it.
 */
export async function reloadNats(plan: FleetPlan, clock: Clock): Promise<void> {
  const running = runningProcess(plan.runDir, plan.nats.name);
  if (running === undefined) return;
  const before = await loadedAt(plan);
  process.kill(running.pid, 'SIGHUP');
  const giveUpAt = clock.now() + GIVE_UP_MS;
  while ((await loadedAt(plan)) === before) {
    if (clock.now() >= giveUpAt)
      throw new FleetError(
        'CONFIG_INVALID',
        `NATS does not take its new configuration: make down, then make up; ${plan.nats.logFile} says why`,
      );
    await clock.sleep(INTERVAL_MS);
  }
}

/** When the server last read its configuration, in its own words. */
async function loadedAt({ natsMonitorPort }: FleetPlan): Promise<string> {
  const reply = await fetch(`http://127.0.0.1:${natsMonitorPort}/varz`, {
    signal: AbortSignal.timeout(REQUEST_MS),
  });
  const varz: unknown = await reply.json();
  if (typeof varz !== 'object' || varz === null || !('config_load_time' in varz)) return '';
  return String(varz.config_load_time);
}
