import { setTimeout as sleep } from 'node:timers/promises';
import { type FleetPlan, fleetDown, fleetUp, runningProcess, waitUntilSettled } from '@hermes-fleet/cli';
import { systemClock as clock } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { type Memory, memoryBelow, memoryOf } from './memory.ts';

const IDLE_MS = 2_000;
const SETTLE_MS = 30_000;
const STOP_MS = 10_000;

/** Starts what does not run of a fleet, and waits until switch knows all peers. Resolves with the seconds of the start. */
export async function startFleet(plan: FleetPlan): Promise<number> {
  const startedAt = performance.now();
  const env = { ...process.env, LOG_LEVEL: 'error' };
  const outcomes = await fleetUp({ plan, env, clock, log: silentLog, withConsole: false });
  const failed = outcomes.filter(({ state }) => state === 'failed');
  if (failed.length > 0) throw new Error(failed.map(({ name, reason }) => `${name} ${reason}`).join('\n'));
  const seconds = (performance.now() - startedAt) / 1000;
  const silentPeers = await waitUntilSettled(urlOf(plan, 'switch'), SETTLE_MS, clock);
  if (silentPeers.length > 0) throw new Error(`switch has not heard from ${silentPeers.join(', ')}`);
  return seconds;
}

export const stopFleet = async (plan: FleetPlan): Promise<void> =>
  void (await fleetDown({ plan, clock, graceMs: STOP_MS }));

export interface MemoryRow {
  readonly name: string;
  readonly own: Memory;
  /** MCP servers and other children. */
  readonly servers: Memory;
}

/** The memory of every member of the running fleet, after it has been idle for a while. */
export async function memoryRows(plan: FleetPlan): Promise<MemoryRow[]> {
  await sleep(IDLE_MS);
  return plan.members.map(({ name }) => {
    const pid = runningProcess(plan.runDir, name)?.pid;
    if (pid === undefined) throw new Error(`${name} is not running`);
    return { name, own: memoryOf(pid), servers: memoryBelow(pid) };
  });
}

export function urlOf(plan: FleetPlan, profile: string): string {
  const found = plan.profiles.find(({ name }) => name === profile);
  if (!found) throw new Error(`no profile ${profile}`);
  return found.url;
}
