import assert from 'node:assert/strict';
import { until } from './fleet.ts';
import { call, dispatch, message, resultOf, runbook, type Target } from './rpc.ts';

/** Sends a task that writes a file `<taskId>.txt` and runs a command; returns the id of the A2A task at once. */
export async function sendCommand(
  to: Target,
  taskId: string,
  command: string,
  target = 'auto',
): Promise<string> {
  const sent = dispatch({
    taskId,
    brief: runbook(`${taskId}.txt`, 'x', command),
    task: { token_budget: 20_000 },
    routing: { target },
  });
  const { body } = await call(to, 'SendMessage', message(sent, { returnImmediately: true }));
  assert.ok(body.result?.task.id, JSON.stringify(body));
  return body.result.task.id;
}

/** The TASK_RESULT of a task, when it has ended; fails after two minutes. */
// biome-ignore lint/suspicious/noExplicitAny: see RpcReply
export async function resultWhenEnded(at: Target, id: string): Promise<any> {
  const find = async () => resultOf((await call(at, 'GetTask', { id })).body.result);
  await until(async () => (await find()) !== undefined, `task ${id} to end`, 120_000);
  return find();
}
