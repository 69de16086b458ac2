import { globSync } from 'node:fs';
import { join } from 'node:path';
import { type JsonObject, TERMINAL_EVENTS } from '@hermes-fleet/protocol';
import { type Fleet, until, WORKERS } from './fleet.ts';
import { readLedgerFile } from './ledger-file.ts';
import { call, dispatch, message, resultOf, runbook } from './rpc.ts';

/** Sends work of some seconds to switch, and waits until a command of it runs at the worker that is named. */
export async function startLongTask(
  fleet: Fleet,
  taskId = 'long',
): Promise<{ readonly id: string; readonly worker: string }> {
  const brief = runbook(
    `${taskId}.txt`,
    'started',
    'for i in $(seq 1 40); do sleep 0.1; done',
    'echo slept >> slept.txt',
  );
  const sent = message(dispatch({ taskId, brief, routing: { target: 'auto' } }), { returnImmediately: true });
  const { body } = await call(fleet.target('switch'), 'SendMessage', sent);
  let worker = '';
  await until(() => {
    const [file] = globSync(`workspaces/*/contexts/*/tree/${taskId}.txt`, { cwd: fleet.dir });
    worker = file?.split('/')[1] ?? '';
    // The file is there before its write is on record: a crash in between leaves a write that may not be repeated.
    return worker !== '' && runsCommand(fleet, worker);
  }, 'a command of the task to run at a worker');
  return { id: body.result.task.id, worker };
}

/** The latest call of a worker is one that has begun, and its task has ended a call before. */
function runsCommand(fleet: Fleet, worker: string): boolean {
  const { events } = readLedgerFile(join(fleet.dir, 'state', worker, 'ledger.db'));
  const calls = events.filter(({ data }) => data.phase === 'started' || data.phase === 'ended');
  const phases = calls.filter(({ taskId }) => taskId === calls.at(-1)?.taskId).map(({ data }) => data.phase);
  return phases.length > 1 && phases.at(-1) === 'started';
}

/** The TASK_RESULT of a task of switch, once it has ended. */
export async function endOf(fleet: Fleet, id: string, timeoutMs?: number): Promise<JsonObject> {
  let task: { status: { state: string } } | undefined;
  const hasEnded = async (): Promise<boolean> => {
    task = (await call(fleet.target('switch'), 'GetTask', { id })).body.result;
    return /COMPLETED|FAILED|REJECTED|CANCELED/.test(task?.status.state ?? '');
  };
  await until(hasEnded, `the task ${id} to end`, timeoutMs);
  return resultOf(task);
}

/** The types of the terminal events of each task in a profile's ledger. */
export function endings(fleet: Fleet, profile: string): ReadonlyMap<string, readonly string[]> {
  const { events } = readLedgerFile(join(fleet.dir, 'state', profile, 'ledger.db'));
  const ended = events.filter(({ type }) => TERMINAL_EVENTS.has(type));
  return new Map(
    [...Map.groupBy(ended, ({ taskId }) => taskId)].map(([id, own]) => [id, own.map(({ type }) => type)]),
  );
}

/** The number of tasks that have ended at the workers, whoever sent them; those that `worked` were not refused. */
export function endedAtWorkers(fleet: Fleet, which: 'all' | 'worked' = 'all'): number {
  const ended = WORKERS.flatMap((name) => [...endings(fleet, name).values()]);
  return ended.filter((types) => which === 'all' || !types.includes('blocked')).length;
}
