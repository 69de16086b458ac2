import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callTool } from '@hermes-fleet/mcp/testing';
import { mcpFleet } from '../../testing/mcp-fleet.ts';
import { spending } from '../../testing/relay-fleet.ts';
import { asking, untilAborted } from '../../testing/scripts.ts';

test('the official client lists seven tools with strict inputs, output schemas and annotations', async (t) => {
  const { connect } = await mcpFleet(t, spending(1));
  const client = await connect();
  assert.deepEqual(client.getServerVersion(), { name: 'switch', version: '1.2.3' });
  assert.match(client.getInstructions() ?? '', /fleet_peers/);
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint, annotations?.idempotentHint]),
    [
      ['fleet_dispatch', false, false],
      ['fleet_task', true, true],
      ['fleet_tasks', true, true],
      ['fleet_cancel', false, true],
      ['fleet_answer', false, true],
      ['fleet_peers', true, true],
      ['fleet_route', true, true],
    ],
  );
  for (const { name, title, description, inputSchema, outputSchema } of tools) {
    assert.equal(inputSchema.additionalProperties, false, name);
    assert.equal(outputSchema?.type, 'object', name);
    assert.ok(!JSON.stringify(outputSchema).includes('"additionalProperties":{}'), name);
    assert.ok(title && (description?.length ?? 0) > 30, name);
  }
});

test('a dispatch is routed to a worker, and its result comes back in the call', async (t) => {
  const { connect, one, neo } = await mcpFleet(t, spending(120));
  const client = await connect();
  const task = await callTool(client, 'fleet_dispatch', {
    brief: 'build it',
    task_id: 'mine',
    token_budget: 5_000,
    priority: 'high',
    required_capabilities: ['terminal'],
  });
  assert.deepEqual(
    [task.state, task.task_id, task.tokens_spent, task.token_budget],
    ['completed', 'mine', 120, 5_000],
  );
  assert.deepEqual(
    [task.result.status, task.result.text, task.result.executed_by],
    ['done', 'did build it', 'neo'],
  );
  const record = one.task(task.id);
  assert.equal(record.caller, 'operator');
  assert.deepEqual(record.dispatch.task, { task_id: 'mine', priority: 'high', token_budget: 5_000 });
  assert.equal(neo.runs.length, 1);

  // A copy is the same task, and a different contract under the same name is refused.
  const input = {
    brief: 'build it',
    token_budget: 5_000,
    priority: 'high',
    required_capabilities: ['terminal'],
  };
  const copy = await callTool(client, 'fleet_dispatch', { ...input, task_id: 'mine' });
  assert.deepEqual([copy.id, neo.runs.length], [task.id, 1]);
  await assert.rejects(
    callTool(client, 'fleet_dispatch', { ...input, task_id: 'mine', brief: 'another' }),
    /TASK_ID_CONFLICT/,
  );
  const known = await callTool(client, 'fleet_task', { id: task.id });
  assert.deepEqual(known, task);
});

test('a dispatch and a route may name a repository, which a worker must have', async (t) => {
  const { connect, one } = await mcpFleet(t, spending(1));
  const client = await connect();
  const repository = { name: 'web', base: 'release/1.2' };
  const unmet = [{ kind: 'capability', name: 'repository:web' }];
  const { id, result } = await callTool(client, 'fleet_dispatch', { brief: 'build it', repository });
  assert.deepEqual(
    result.unmet.map(({ kind, name }: Record<string, unknown>) => ({ kind, name })),
    unmet,
  );
  assert.deepEqual((await one.event(id, 'submitted')).repository, repository);
  const route = await callTool(client, 'fleet_route', { brief: 'build it', repository: { name: 'web' } });
  assert.deepEqual(
    [route.chosen, route.unmet.map(({ kind, name }: Record<string, unknown>) => ({ kind, name }))],
    [null, unmet],
  );
});

test('a dispatch that takes longer returns an id, and the task goes on until it is canceled', async (t) => {
  const { connect, one } = await mcpFleet(t, untilAborted);
  const client = await connect();
  const running = await callTool(client, 'fleet_dispatch', { brief: 'wait', wait_s: 0 });
  assert.ok(['submitted', 'queued', 'working'].includes(running.state), running.state);
  assert.match(running.next, /fleet_task/);
  const listed = await callTool(client, 'fleet_tasks', { page_size: 1 });
  assert.deepEqual([listed.total, listed.tasks[0].id, listed.tasks[0].brief], [1, running.id, 'wait']);
  const canceled = await callTool(client, 'fleet_cancel', { id: running.id });
  assert.equal(canceled.state, 'canceled');
  assert.equal(one.task(running.id).state, 'canceled');
  assert.deepEqual(await callTool(client, 'fleet_cancel', { id: running.id }), canceled);
  assert.equal((await callTool(client, 'fleet_tasks', { states: ['working', 'queued'] })).total, 0);
});

test('a task that asks says so in the result, with how to answer; the same answer may come twice', async (t) => {
  const { connect } = await mcpFleet(t, asking('which branch?', 'which tag?'));
  const client = await connect();
  const asked = await callTool(client, 'fleet_dispatch', { brief: 'release' });
  assert.equal(asked.state, 'input_required');
  assert.deepEqual(asked.question, { number: 1, text: 'which branch?' });
  assert.match(asked.next, new RegExp(`fleet_answer {"id":"${asked.id}","question":1,"text":"…"}`));
  const answer = { id: asked.id, question: 1, text: 'main' };
  const second = await callTool(client, 'fleet_answer', answer);
  assert.deepEqual(second.question, { number: 2, text: 'which tag?' });
  const copy = await callTool(client, 'fleet_answer', answer);
  assert.deepEqual(copy.question, { number: 2, text: 'which tag?' });
  await assert.rejects(
    callTool(client, 'fleet_answer', { ...answer, text: 'other' }),
    /INVALID_PARAMS: question is not the question that the task waits for: its last question is 2/,
  );
  const done = await callTool(client, 'fleet_answer', { id: asked.id, question: 2, text: 'v1' });
  assert.deepEqual([done.state, done.result.text, done.question], ['completed', 'main, v1', undefined]);
  await assert.rejects(
    callTool(client, 'fleet_answer', { id: asked.id, question: 2, text: 'v2' }),
    /UNSUPPORTED_OPERATION: .*has ended/,
  );
});

test('peers and routing are explained, and a dispatch that nobody can take costs nothing', async (t) => {
  const { connect, neo } = await mcpFleet(t, spending(1));
  const client = await connect();
  const { profile, peers } = await callTool(client, 'fleet_peers');
  assert.deepEqual([profile, peers.length, peers[0].name, peers[0].state], ['switch', 1, 'neo', 'live']);
  const route = await callTool(client, 'fleet_route', { brief: 'x', required_mcp: ['memory'] });
  assert.deepEqual([route.chosen, route.considered[0].verdict], ['neo', 'chosen']);
  const impossible = { brief: 'x', required_mcp: ['nobody-has-it'] };
  const none = await callTool(client, 'fleet_route', impossible);
  assert.deepEqual([none.chosen, none.unmet[0].kind], [null, 'mcp']);
  const blocked = await callTool(client, 'fleet_dispatch', impossible);
  assert.deepEqual([blocked.state, blocked.tokens_spent, blocked.result.status], ['rejected', 0, 'blocked']);
  assert.match(blocked.next, /cost nothing/);
  assert.equal(neo.runs.length, 0);
});

test("another caller's task is as unknown as one that does not exist", async (t) => {
  const { connect } = await mcpFleet(t, untilAborted);
  const mine = await connect();
  const other = await connect('other');
  const { id } = await callTool(mine, 'fleet_dispatch', { brief: 'secret work', wait_s: 0 });
  const words = async (tool: string, input: { id: string }): Promise<string> => {
    const refused = await callTool(other, tool, input).catch((error: Error) => error.message);
    return String(refused).replaceAll(input.id, '<id>');
  };
  for (const [tool, more] of [
    ['fleet_task', {}],
    ['fleet_cancel', {}],
    ['fleet_answer', { question: 1, text: 'x' }],
  ] as const) {
    const foreign = await words(tool, { id, ...more });
    assert.match(foreign, /TASK_NOT_FOUND/);
    assert.equal(foreign, await words(tool, { id: 'ghost', ...more }), tool);
  }
  assert.deepEqual((await callTool(other, 'fleet_tasks')).tasks, []);
  assert.equal((await callTool(mine, 'fleet_task', { id })).result, undefined);
  await callTool(mine, 'fleet_cancel', { id });
});

test('wrong arguments and missing scopes are errors that a model can act on, and change nothing', async (t) => {
  const { connect, one } = await mcpFleet(t, spending(1));
  const client = await connect();
  const wrong: [tool: string, input: Record<string, never> | object, words: RegExp][] = [
    ['fleet_dispatch', {}, /INVALID_PARAMS: the arguments of fleet_dispatch are not valid: brief: /],
    ['fleet_dispatch', { brief: 'x', budget: 5 }, /budget/],
    ['fleet_dispatch', { brief: 'x', wait_s: 241 }, /wait_s: .*240/],
    ['fleet_dispatch', { brief: 'x', deadline: 'soon' }, /deadline/],
    [
      'fleet_route',
      { brief: 'x', repository: 'web' },
      /repository: must be an object such as \{.*name.*web.*\}/,
    ],
    ['fleet_dispatch', { brief: 'x', repository: { name: '../web' } }, /repository\.name: must be 1 to 63/],
    [
      'fleet_route',
      { brief: 'x', repository: { name: 'web', base: '-d' } },
      /repository\.base: must be the name/,
    ],
    ['fleet_dispatch', { brief: 'x', repository: { base: 'main' } }, /repository\.name/],
    ['fleet_task', { id: 7 }, /id: /],
    ['fleet_tasks', { page_token: 'no token' }, /INVALID_PARAMS/],
    ['fleet_answer', { id: 'x', text: 'y' }, /question: /],
    ['fleet_peers', { all: true }, /all/],
  ];
  for (const [tool, input, words] of wrong)
    await assert.rejects(callTool(client, tool, { ...input }), words, tool);
  const reader = await connect('reader');
  const sender = await connect('sender');
  await assert.rejects(callTool(reader, 'fleet_dispatch', { brief: 'x' }), /FORBIDDEN: .*dispatch/);
  await assert.rejects(callTool(reader, 'fleet_cancel', { id: 'x' }), /FORBIDDEN/);
  for (const tool of ['fleet_tasks', 'fleet_peers'])
    await assert.rejects(callTool(sender, tool), /FORBIDDEN: .*read/, tool);
  await assert.rejects(
    client.callTool({ name: 'fleet_shell', arguments: {} }),
    /there is no tool "fleet_shell"/,
  );
  assert.equal(one.ledger.list({ pageSize: 1 }).totalSize, 0);
});
