import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFleet } from '../support/fleet.ts';
import { call, dispatch, message, resultOf, runbook } from '../support/rpc.ts';

test('one hundred parallel copies of one dispatch are one task', async (t) => {
  const fleet = await startFleet(t);
  const operator = fleet.target('switch');
  const sent = dispatch({
    taskId: 'copies',
    brief: runbook('a.txt', 'a', 'cat a.txt'),
    routing: { target: 'auto' },
  });
  const replies = await Promise.all(
    Array.from({ length: 100 }, () => call(operator, 'SendMessage', message(sent))),
  );
  const tasks = replies.map(({ body }) => body.result.task);
  assert.equal(new Set(tasks.map(({ id }) => id)).size, 1);
  assert.deepEqual([...new Set(tasks.map((task) => JSON.stringify(resultOf(task))))].length, 1);
  assert.equal(resultOf(tasks[0]).status, 'done');

  const later = await call(operator, 'SendMessage', message(sent));
  assert.equal(later.body.result.task.id, tasks[0].id, 'a copy after the end is the same task');

  const workers = await Promise.all(
    ['neo', 'morpheus', 'trinity'].map((name) =>
      fleet.tokenOf('switch', name).then((token) => fleet.target(name, token)),
    ),
  );
  const executed = await Promise.all(workers.map((worker) => call(worker, 'ListTasks', {})));
  assert.equal(
    executed.reduce((sum, { body }) => sum + body.result.totalSize, 0),
    1,
    'the work was sent out more than once',
  );

  const conflict = await call(operator, 'SendMessage', message({ ...sent, brief: 'something else' }));
  assert.equal(conflict.body.error.code, -32602);
  assert.match(JSON.stringify(conflict.body.error), /TASK_ID_CONFLICT/);
});
