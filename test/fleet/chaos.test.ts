import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { PROFILES, startFleet, until } from '../support/fleet.ts';
import { readLedgerFile } from '../support/ledger-file.ts';
import { call, dispatch, message, resultOf, runbook } from '../support/rpc.ts';

const TASKS = 24;
const VICTIMS = ['neo', 'switch', 'morpheus', 'nats', 'switch', 'trinity', 'neo'];
/** The ends of work; `blocked` is a refusal, which costs nothing. */
const WORKED = /^(done|partial|error|canceled)$/;
const TERMINAL = /^(done|partial|error|blocked|canceled)$/;

test('process after process killed under load: every accepted task ends once, and none is done twice', async (t) => {
  const fleet = await startFleet(t, PROFILES);
  const operator = fleet.target('switch');
  const brief = runbook('a.txt', 'a', 'sleep 1', 'echo x >> b.txt');
  const ids: string[] = [];
  for (let i = 0; i < TASKS; i += 1) {
    const sent = dispatch({ taskId: `chaos-${i}`, brief, routing: { target: 'auto' } });
    const { body } = await call(operator, 'SendMessage', message(sent, { returnImmediately: true }));
    ids.push(body.result.task.id);
  }
  for (const victim of VICTIMS) {
    await fleet.kill(victim);
    await fleet.up();
  }

  // Tells, after a failure, which task went to more than one worker, and why.
  const moved: string[] = [];
  for (const id of ids) {
    let task: { status: { state: string } } | undefined;
    await until(
      async () => {
        task = (await call(operator, 'GetTask', { id })).body.result;
        return /COMPLETED|FAILED|REJECTED/.test(task?.status.state ?? '');
      },
      `task ${id} to end`,
      120_000,
    );
    const result = resultOf(task);
    assert.ok(['done', 'partial', 'error'].includes(result.status), JSON.stringify(result));
    if (result.attempts?.length > 1) moved.push(JSON.stringify(result.attempts));
  }
  const worked: string[] = [];
  for (const profile of PROFILES) {
    const { events, unfinished } = readLedgerFile(join(fleet.dir, 'state', profile, 'ledger.db'));
    const ends = events.filter(({ type }) => TERMINAL.test(type));
    const ended = ends.map(({ taskId }) => taskId);
    assert.equal(new Set(ended).size, ended.length, `${profile}: a task has two results`);
    assert.equal(unfinished, 0, `${profile}: a task is left over`);
    const ofWork = ends.filter(({ type }) => WORKED.test(type));
    if (profile !== 'switch') worked.push(...ofWork.map(({ type }) => `${type} at ${profile}`));
  }
  assert.equal(
    worked.length,
    TASKS,
    `each task was done by one worker, once: ${worked.join()}; ${moved.join()}`,
  );
});
