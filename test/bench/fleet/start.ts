import { commandOf, type FleetPlan, memberEnv, type PlannedMember } from '@hermes-fleet/cli';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { startChild } from '../frame/child.ts';

const READY_MS = 30_000;
const POLL_MS = 5;

/** Starts a service and stops it again. Resolves with the time from spawn until `/ready` answers 200, in ms. */
export async function timeToReady(plan: FleetPlan, member: PlannedMember): Promise<number> {
  const startedAt = performance.now();
  await using child = startChild({
    command: [process.execPath, ...commandOf(member.name)],
    cwd: plan.home,
    env: { ...process.env, ...memberEnv(plan, member), LOG_LEVEL: 'error' },
    stdio: 'ignore',
  });
  while (!(await isReady(member.readyUrl))) {
    const end = child.end();
    if (end !== undefined) throw new Error(`${member.name} is not ready: ${end}`);
    if (performance.now() - startedAt > READY_MS) throw new Error(`${member.name} is not ready`);
    await systemClock.sleep(POLL_MS);
  }
  return performance.now() - startedAt;
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
