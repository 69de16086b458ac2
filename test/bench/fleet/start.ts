import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { commandOf, type FleetPlan, memberEnv, type PlannedMember } from '@hermes-fleet/cli';
import { systemClock } from '@hermes-fleet/protocol';

const READY_MS = 30_000;
const STOP_MS = 10_000;
const POLL_MS = 5;

/** Starts a service and stops it again. Resolves with the time from spawn until `/ready` answers 200, in ms. */
export async function timeToReady(plan: FleetPlan, member: PlannedMember): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [...commandOf(plan.root, member.name)], {
    cwd: plan.root,
    env: { ...process.env, ...memberEnv(plan, member), LOG_LEVEL: 'error' },
    stdio: 'ignore',
    detached: true,
  });
  try {
    while (!(await isReady(member.readyUrl))) {
      if (child.exitCode !== null) throw new Error(`${member.name} ended with exit code ${child.exitCode}`);
      if (performance.now() - startedAt > READY_MS) throw new Error(`${member.name} is not ready`);
      await systemClock.sleep(POLL_MS);
    }
    return performance.now() - startedAt;
  } finally {
    await stop(child);
  }
}

async function isReady(url: string): Promise<boolean> {
  try {
    const reply = await fetch(url, { signal: AbortSignal.timeout(1_000) });
    await reply.body?.cancel();
    return reply.status === 200;
  } catch {
    return false;
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await ended;
  clearTimeout(late);
}
