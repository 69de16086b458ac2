import { runningProcess } from './pid-file.ts';
import type { FleetPlan } from './plan.ts';
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
  return Promise.all(
    [plan.nats, ...plan.members].map(async ({ name, url, readyUrl, logFile }) => {
      const running = runningProcess(plan.runDir, name);
      if (running === undefined) return { name, pid: undefined, url, state: 'down' as const, logFile };
      const detail = await probe(readyUrl);
      if (detail === undefined) return { name, pid: running.pid, url, state: 'ready' as const, logFile };
      return { name, pid: running.pid, url, state: 'not ready' as const, detail, logFile };
    }),
  );
}
