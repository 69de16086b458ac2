import { join } from 'node:path';
import { recordedNames, runningProcess } from './pid-file.ts';
import { type FleetPlan, PROMETHEUS, SUPERVISOR } from './plan.ts';
import type { ProcessStatus } from './ready.ts';

const OTHERS: ReadonlySet<string> = new Set([PROMETHEUS, SUPERVISOR]);

/** The services that `up` started and that still have a pid file, although they are no longer in the list of members. */
export function formerMembers({ runDir, processes }: FleetPlan): readonly string[] {
  const planned = new Set(processes.map(({ name }) => name));
  return recordedNames(runDir).filter((name) => !planned.has(name) && !OTHERS.has(name));
}

export const NO_MEMBER = 'is not in the list of members any more';

/** The state of those that run. */
export const formerStatus = (plan: FleetPlan): readonly ProcessStatus[] =>
  formerMembers(plan).flatMap((name) => {
    const pid = runningProcess(plan.runDir, name)?.pid;
    const logFile = join(plan.dir, 'logs', `${name}.log`);
    return pid === undefined
      ? []
      : [{ name, pid, url: '', state: 'not ready', detail: `${NO_MEMBER}: up or down stops it`, logFile }];
  });
