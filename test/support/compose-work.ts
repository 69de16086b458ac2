import { join } from 'node:path';
import type { ComposeFleet } from './compose.ts';
import { ROOT, until } from './fleet.ts';
import { call, dispatch, message, type Target } from './rpc.ts';

export const DASHBOARD = join(ROOT, 'deploy/grafana/dashboards/fleet-overview.json');

export interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

/** Work for switch in a fleet of containers, with the names under which it was submitted. */
export function composeWork(fleet: Pick<ComposeFleet, 'untilInside'>, operator: Target) {
  const submitted: string[] = [];

  /** Sends work to switch under a name that a test can look for in the stream. */
  const send = (taskId: string, options: Omit<Parameters<typeof dispatch>[0], 'taskId'>, now = false) => {
    submitted.push(taskId);
    const work = dispatch({ routing: { target: 'auto' }, ...options, taskId });
    return call(operator, 'SendMessage', message(work, { returnImmediately: now }));
  };
  /** The task once it has ended. */
  const ended = async (id: string) => {
    let task = (await call(operator, 'GetTask', { id })).body.result;
    await until(async () => {
      task = (await call(operator, 'GetTask', { id })).body.result;
      return !['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING'].includes(task.status.state);
    }, `task ${id} to end`);
    return task;
  };
  /** Waits until a command in neo's workspace has left its mark. */
  const running = (file: string): Promise<void> =>
    fleet.untilInside('neo', `ls /workspace/contexts/*/tree/${file}`);

  return { submitted, send, ended, running };
}
