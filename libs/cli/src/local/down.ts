import type { Clock } from '@hermes-fleet/protocol';
import { forgetProcess, isAlive, type RunningProcess, runningProcess } from './pid-file.ts';
import type { FleetPlan } from './plan.ts';

export interface Stopped {
  readonly name: string;
  readonly state: 'stopped' | 'killed' | 'was not running';
}

/** Longer than the gateways' own `shutdown.grace_s`. */
const GRACE_MS = 25_000;
const KILL_MS = 5_000;
const INTERVAL_MS = 50;

/**
 * Takes the fleet down: the profiles side by side, then the trader, which they may still be talking to, then NATS, so
 * that the last events still reach it. Each gets SIGTERM and `graceMs`, then SIGKILL for it and everything it started.
 * Only processes that `up` started are touched.
 */
export async function fleetDown(o: {
  readonly plan: FleetPlan;
  readonly clock: Clock;
  readonly graceMs?: number;
}): Promise<readonly Stopped[]> {
  const stop = (name: string): Promise<Stopped> =>
    stopProcess(o.plan.runDir, name, o.graceMs ?? GRACE_MS, o.clock);
  const profiles = await Promise.all([...o.plan.profiles].reverse().map(({ name }) => stop(name)));
  return [...profiles, await stop(o.plan.trader.name), await stop(o.plan.nats.name)];
}

async function stopProcess(runDir: string, name: string, graceMs: number, clock: Clock): Promise<Stopped> {
  const running = runningProcess(runDir, name);
  if (running === undefined) {
    forgetProcess(runDir, name);
    return { name, state: 'was not running' };
  }
  signal(running.pid, 'SIGTERM');
  let state: Stopped['state'] = 'stopped';
  if (!(await gone(running, graceMs, clock))) {
    // Every process is started as the leader of a group of its own.
    signal(-running.pid, 'SIGKILL');
    await gone(running, KILL_MS, clock);
    state = 'killed';
  }
  forgetProcess(runDir, name);
  return { name, state };
}

async function gone(running: RunningProcess, timeoutMs: number, clock: Clock): Promise<boolean> {
  const giveUpAt = clock.now() + timeoutMs;
  while (isAlive(running)) {
    if (clock.now() >= giveUpAt) return false;
    await clock.sleep(INTERVAL_MS);
  }
  return true;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // It ended between the look and the signal.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
