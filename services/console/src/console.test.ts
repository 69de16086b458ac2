import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadline } from '@hermes-fleet/protocol/testing';
import { startTestConsole } from '../testing/console.ts';
import { eventMaker, publish } from '../testing/events.ts';
import type { TasksDocument } from './http/task-list.ts';

test(
  'a task that entered is listed from its events, also after a restart, each counted once',
  deadline,
  async (t) => {
    const first = await startTestConsole(t);
    const neo = eventMaker('neo');
    const [a, b] = [{ id: 'a' }, { id: 'b' }];
    const model = { model: 'small', model_tier: 'haiku', resumes: 0 };
    await publish(first.nats.url, [
      neo('submitted', a, { priority: 'high', budget_tokens: 500 }),
      neo('started', a, model),
      neo('progress', a, { step: 1, spent_tokens: 30, tool: 'shell', phase: 'started' }),
      neo('submitted', b),
    ]);
    const browser = await first.signIn();
    const running = await first.until<TasksDocument>(browser, '/api/tasks', ({ total }) => total === 2);
    assert.deepEqual(
      running.tasks.map(({ id, state, tool, spent_tokens, priority }) => [
        id,
        state,
        tool,
        spent_tokens,
        priority,
      ]),
      [
        ['b', 'submitted', null, 0, null],
        ['a', 'running', 'shell', 30, 'high'],
      ],
    );
    await first.stop();
    await publish(first.nats.url, [neo('done', a, { tokens_spent: 70, executed_by: 'neo' })]);
    const second = await first.restart();
    const again = await second.signIn();
    const ended = await second.until<TasksDocument>(
      again,
      '/api/tasks?state=done',
      ({ total }) => total === 1,
    );
    assert.deepEqual([ended.tasks[0]?.spent_tokens, ended.tasks[0]?.budget_tokens], [70, 500]);
  },
);

test('nothing below /api is shown without a session', deadline, async (t) => {
  const { url } = await startTestConsole(t);
  for (const headers of [
    {},
    { cookie: 'fleet_console=wrong' },
    { authorization: 'Bearer console-login-0123456789' },
  ]) {
    const response = await fetch(`${url}/api/tasks`, { headers: headers as Record<string, string> });
    assert.equal(response.status, 401);
  }
  assert.equal((await fetch(`${url}/health`)).status, 200);
  assert.equal((await fetch(`${url}/ready`)).status, 200);
  assert.match(await (await fetch(`${url}/metrics`)).text(), /fleet_console_sessions 0/);
});
