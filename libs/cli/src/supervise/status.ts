import { ownCommand } from '../command-line/own-command.ts';
import { formerStatus } from '../local/former-members.ts';
import { runningProcess } from '../local/pid-file.ts';
import { type FleetPlan, SUPERVISOR } from '../local/plan.ts';
import { isSupervised } from '../local/port-offset.ts';
import { prometheusStatus } from '../local/prometheus.ts';
import { fleetStatus, type ProcessStatus } from '../local/ready.ts';
import { type RestartRecord, readRestarts } from './restarts.ts';
import { logOf } from './start-supervisor.ts';

/** The current state of every process, with its restarts since the last `up`, of former members that run, and of the supervisor and Prometheus that `up` started. */
export async function supervisedStatus(plan: FleetPlan): Promise<readonly ProcessStatus[]> {
  const restarts = readRestarts(plan.runDir) ?? {};
  const prometheus = await prometheusStatus(plan);
  const all = [...(await fleetStatus(plan)), ...formerStatus(plan), ...(prometheus ? [prometheus] : [])];
  return [
    ...all.map((status) => withRestarts(status, restarts[status.name])),
    ...statusOfSupervisor(plan, all),
  ];
}

type Restarts = RestartRecord[string];

function withRestarts(status: ProcessStatus, restarts: Restarts | undefined): ProcessStatus {
  if (restarts === undefined) return status;
  const { count, lastAt, failedAt, reason } = restarts;
  if (failedAt !== undefined && status.state === 'down') {
    if (reason === 'program') {
      const since = `down since ${timeOf(failedAt)}`;
      return { ...status, detail: `${since}, and the program has changed: run ${ownCommand('up')}` };
    }
    const detail = `restarted ${times(count)}, and died each time; down since ${timeOf(failedAt)}: its log says why, up starts it again`;
    return { ...status, state: 'failed', detail };
  }
  const detail = `restarted ${times(count)}, last at ${timeOf(lastAt)}`;
  return { ...status, detail: status.detail === undefined ? detail : `${status.detail}; ${detail}` };
}

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);
const timeOf = (ms: number): string => new Date(ms).toISOString();

/** Nothing where it is switched off, or nothing runs. */
function statusOfSupervisor(plan: FleetPlan, all: readonly ProcessStatus[]): ProcessStatus[] {
  const pid = runningProcess(plan.runDir, SUPERVISOR)?.pid;
  const shown = { name: SUPERVISOR, url: '', logFile: logOf(plan), pid };
  if (pid !== undefined) return [{ ...shown, state: 'ready' }];
  if (!isSupervised(plan.dir) || all.every((status) => status.pid === undefined)) return [];
  return [{ ...shown, state: 'down', detail: 'does not run, so nothing is restarted: up starts it again' }];
}
