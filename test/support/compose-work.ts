import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type ResultPart, resultUrl } from '@hermes-fleet/protocol/api';
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

  /** Asserts that switch's published port serves the only file of a result, and its diff. */
  const readable = async (id: string, path: string, content: string): Promise<void> => {
    const read = async (part: ResultPart): Promise<string> => {
      const headers = { authorization: `Bearer ${operator.token}` };
      const response = await fetch(`${operator.url}${resultUrl(id, part)}`, {
        headers,
        signal: AbortSignal.timeout(60_000),
      });
      const text = await response.text();
      assert.equal(response.status, 200, text);
      return text;
    };
    assert.equal(await read({ kind: 'file', path }), `${content}\n`);
    const diff = await read({ kind: 'diff', stat: false });
    assert.ok(diff.startsWith(`diff --git a/${path} b/${path}\n`) && diff.endsWith(`\n+${content}\n`), diff);
  };

  return { submitted, send, ended, running, readable };
}
