import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callTool } from '@hermes-fleet/mcp/testing';
import { mcpFleet, serveMcp } from '../../testing/mcp-fleet.ts';
import { profile } from '../../testing/profile.ts';
import { asking, DONE, type Script, untilAborted } from '../../testing/scripts.ts';

/** A script that ends when `end` is called. */
function held(): { readonly script: Script; readonly end: () => void } {
  const gate = Promise.withResolvers<void>();
  const script: Script = async (task, context) => {
    await Promise.race([gate.promise, untilAborted(task, context)]);
    return { ...DONE, text: 'done after all' };
  };
  return { script, end: () => gate.resolve() };
}

const dispatchCall = (id: number, input: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'fleet_dispatch', arguments: { brief: 'wait', ...input } },
});

test('progress names state, peer and tool, with the tokens against the budget', async (t) => {
  const one = await profile(t, {
    script: async (_task, { budget, reportEvent }) => {
      const call = await budget.reserve({ inputTokens: 60, maxOutputTokens: 40 });
      await call.settle({ inputTokens: 60, outputTokens: 5, source: 'metered' });
      await reportEvent({ type: 'progress', data: { step: 1, tool: 'terminal', phase: 'started' } });
      await seen.promise;
      await reportEvent({ type: 'progress', data: { step: 1, tool: 'terminal', phase: 'ended', ok: true } });
      return DONE;
    },
  });
  const seen = Promise.withResolvers<void>();
  const { connect } = await serveMcp(t, one);
  const client = await connect();
  const lines: string[] = [];
  const numbers: number[] = [];
  const onprogress = ({ progress, message = '' }: { progress: number; message?: string }): void => {
    lines.push(message);
    numbers.push(progress);
    if (message === 'working · terminal · 65 of 900 tokens') seen.resolve();
  };
  const input = { brief: 'x', token_budget: 900 };
  const task = await callTool(client, 'fleet_dispatch', input, { onprogress });
  assert.equal(task.state, 'completed');
  assert.equal(lines.at(-1), 'completed · 65 of 900 tokens');
  assert.deepEqual(
    numbers,
    numbers.toSorted((a, b) => a - b),
  );
  assert.equal(new Set(numbers).size, numbers.length);

  const relayed = await mcpFleet(t, asking('who?'));
  const other = await relayed.connect();
  const relayedLines: string[] = [];
  await callTool(
    other,
    'fleet_dispatch',
    { brief: 'x' },
    {
      onprogress: ({ message = '' }) => relayedLines.push(message),
    },
  );
  assert.equal(relayedLines.at(-1), 'input_required at neo · 0 tokens');
});

test('a task with two thousand events sends few notifications', async (t) => {
  const one = await profile(t, {
    isFreeOfEffects: true,
    script: async (_task, { reportEvent }) => {
      for (let step = 0; step < 400; step += 1)
        await Promise.all(
          ['a', 'b', 'c', 'd', 'e'].map((tool) =>
            reportEvent({ type: 'progress', data: { step, tool, phase: 'started' } }),
          ),
        );
      return DONE;
    },
  });
  const { connect } = await serveMcp(t, one);
  const client = await connect();
  let count = 0;
  const began = performance.now();
  const input = { brief: 'x', wait_s: 120 };
  await callTool(client, 'fleet_dispatch', input, { onprogress: () => (count += 1), timeout: 120_000 });
  const most = (performance.now() - began) / 250 + 3;
  assert.ok(count >= 2 && count <= most, `${count} notifications, at most ${most} expected`);
});

test('a canceled call of fleet_dispatch cancels its task, and only that of its own client', async (t) => {
  const both = Promise.withResolvers<void>();
  let runs = 0;
  const { connect, one } = await mcpFleet(t, (task, context) => {
    runs += 1;
    if (runs === 2) both.resolve();
    return untilAborted(task, context);
  });
  const first = await connect();
  const second = await connect();
  const canceling = new AbortController();
  // Both clients number their requests alike.
  const call = callTool(
    first,
    'fleet_dispatch',
    { brief: 'one', task_id: 'one' },
    { signal: canceling.signal },
  );
  const other = callTool(second, 'fleet_dispatch', { brief: 'two', task_id: 'two' });
  const idOf = (key: string): string => {
    const found = one.ledger.findByKey('operator', key);
    assert.ok(found, key);
    return found.task.id;
  };
  await both.promise;
  canceling.abort(new Error('the person pressed escape'));
  await assert.rejects(call);
  await one.event(idOf('one'), 'canceled');
  assert.notEqual(one.task(idOf('two')).state, 'canceled');
  await one.gateway.cancel(idOf('two'), { name: 'operator', scopes: new Set() });
  assert.equal((await other).state, 'canceled');
});

test('a canceled call of fleet_task, and a client that disconnects, leave the task running', async (t) => {
  const { script, end } = held();
  const one = await profile(t, { script });
  const gone = Promise.withResolvers<void>();
  const { connect, post } = await serveMcp(t, one, { maxCallsPerCaller: 1, onGone: () => gone.resolve() });
  const client = await connect();
  const leaving = new AbortController();
  const response = await post(dispatchCall(1), {}, 'operator', leaving.signal);
  await one.firstRun;
  leaving.abort();
  await assert.rejects(response.text());
  await gone.promise;
  const [task] = one.ledger.list({ pageSize: 1 }).tasks;
  assert.ok(task);
  const canceling = new AbortController();
  const waiting = callTool(client, 'fleet_task', { id: task.id, wait_s: 60 }, { signal: canceling.signal });
  canceling.abort(new Error('never mind'));
  await assert.rejects(waiting);
  await post({ jsonrpc: '2.0', id: 3, method: 'ping' });
  end();
  const done = await one.result(task.id);
  assert.deepEqual([done.status, done.text], ['done', 'done after all']);
});

test('a caller has a bounded number of open calls, and each ends with its answer', async (t) => {
  const { connect, post } = await mcpFleet(t, untilAborted, { maxCallsPerCaller: 1 });
  const client = await connect();
  const canceling = new AbortController();
  const first = await post(dispatchCall(1, { wait_s: 240 }), { 'mcp-session-id': 's' });
  assert.equal(first.headers.get('content-type'), 'text/event-stream');
  const refused = await post(dispatchCall(2));
  assert.equal(refused.status, 429);
  assert.match(await refused.text(), /"reason":"TOO_MANY_STREAMS"/);
  const others = await connect('other');
  assert.deepEqual((await callTool(others, 'fleet_tasks')).tasks, []);
  const params = { requestId: 1 };
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params };
  // Neither another caller nor another session can cancel it.
  await post(cancel, { 'mcp-session-id': 's' }, 'other');
  await post(cancel, { 'mcp-session-id': 'another' });
  assert.equal((await post(dispatchCall(3))).status, 429);
  assert.equal((await post(cancel, { 'mcp-session-id': 's' })).status, 202);
  assert.match(await first.text(), /"state":"canceled"/);
  assert.equal((await callTool(client, 'fleet_tasks', {}, { signal: canceling.signal })).total, 1);
});

test('a call that waits while the profile stops gets the task as it is', async (t) => {
  const { post, close, neo } = await mcpFleet(t, untilAborted);
  const call = await post(dispatchCall(1, { wait_s: 240 }));
  await neo.firstRun;
  const closed = close();
  const text = await call.text();
  await closed;
  assert.match(text, /"state":"(queued|working)"/);
  assert.match(text, /The task goes on/);
});

test('the last notification says what ended the wait, however late the log is read', async (t) => {
  const one = await profile(t, { script: async () => DONE });
  const { ledger } = one;
  const late: Pick<typeof ledger, 'watch'> = {
    async *watch(id, after, signal) {
      await ledger.settled(id, signal);
      yield* ledger.watch(id, after, signal);
    },
  };
  const { connect } = await serveMcp(t, {
    ...one,
    gateway: one.gateway,
    peers: one.peers,
    ledger: Object.assign(Object.create(ledger), late),
  });
  const client = await connect();
  const lines: string[] = [];
  await callTool(
    client,
    'fleet_dispatch',
    { brief: 'x' },
    { onprogress: ({ message = '' }) => lines.push(message) },
  );
  assert.equal(lines.at(-1), 'completed · 0 tokens');
});
