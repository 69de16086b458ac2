import { runningProcess } from './pid-file.ts';
import type { FleetPlan, PlannedProcess } from './plan.ts';
import { probe } from './ready.ts';

export interface ProcessStatus {
  readonly name: string;
  readonly pid: number | undefined;
  readonly url: string;
  readonly state: 'ready' | 'not ready' | 'down';
  readonly detail?: string;
  readonly logFile: string;
}

/** The current state of every process of the fleet. */
export function fleetStatus(plan: FleetPlan): Promise<readonly ProcessStatus[]> {
  return Promise.all(plan.processes.map((planned) => statusOf(plan, planned)));
}

/** The current state of a process. */
export async function statusOf(
  plan: FleetPlan,
  { name, url, readyUrl, logFile }: PlannedProcess,
): Promise<ProcessStatus> {
  const running = runningProcess(plan.runDir, name);
  if (running === undefined) return { name, pid: undefined, url, state: 'down', logFile };
  const detail = await probe(readyUrl);
  if (detail === undefined) return { name, pid: running.pid, url, state: 'ready', logFile };
  return { name, pid: running.pid, url, state: 'not ready', detail, logFile };
}
