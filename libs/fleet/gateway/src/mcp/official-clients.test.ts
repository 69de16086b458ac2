import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectOfficial, OFFICIAL_CLIENTS, statelessRequest } from '@hermes-fleet/mcp/testing';
import { mcpFleet, tokenOf } from '../../testing/mcp-fleet.ts';
import { asking, untilAborted } from '../../testing/scripts.ts';

const TOKEN = tokenOf('operator');

for (const kind of OFFICIAL_CLIENTS) {
  test(`${kind}: a task asks, is answered, and shows its progress and its result`, async (t) => {
    const seen = Promise.withResolvers<void>();
    const { url } = await mcpFleet(t, async (task, context) => {
      await seen.promise;
      return asking('which branch?')(task, context);
    });
    const client = await connectOfficial(t, kind, url, TOKEN);
    assert.equal((await client.listTools()).length, 7);
    const onprogress = ({ message }: { message?: string | undefined }): void => {
      if (message?.startsWith('working at neo')) seen.resolve();
    };
    const asked = await client.callTool('fleet_dispatch', { brief: 'release' }, { onprogress });
    const { id, state } = Object(asked.structuredContent);
    assert.equal(state, 'input_required');
    const answer = { id, question: 1, text: 'main' };
    const done = await client.callTool('fleet_answer', answer);
    assert.equal(Object(done.structuredContent).result.text, 'main');
    const shown = JSON.stringify(await client.readResource(`fleet://tasks/${id}/result`));
    assert.match(shown, /TASK_RESULT/);
    const missing = client.readResource('fleet://tasks/ghost/result');
    await assert.rejects(missing, /has nothing for you/);
  });

  test(`${kind}: a canceled call cancels its task, and only that of its own client`, async (t) => {
    const both = Promise.withResolvers<void>();
    let runs = 0;
    const { url, one } = await mcpFleet(t, (task, context) => {
      runs += 1;
      if (runs === 2) both.resolve();
      return untilAborted(task, context);
    });
    const first = await connectOfficial(t, kind, url, TOKEN);
    const second = await connectOfficial(t, kind, url, TOKEN);
    const canceling = new AbortController();
    const { signal } = canceling;
    const call = first.callTool('fleet_dispatch', { brief: 'x', task_id: 'one' }, { signal });
    const other = second.callTool('fleet_dispatch', { brief: 'x', task_id: 'two' });
    const idOf = (key: string): string => one.ledger.findByKey('operator', key)?.task.id ?? '';
    await both.promise;
    canceling.abort(new Error('enough'));
    await assert.rejects(call);
    await one.event(idOf('one'), 'canceled');
    assert.notEqual(one.task(idOf('two')).state, 'canceled');
    await one.gateway.cancel(idOf('two'), { name: 'operator', scopes: new Set() });
    assert.equal(Object((await other).structuredContent).state, 'canceled');
  });
}

test('a late cancel of a client of 2026-07-28 does not end the call of another one', async (t) => {
  const begun = Promise.withResolvers<void>();
  const { post, one } = await mcpFleet(t, (task, context) => {
    begun.resolve();
    return untilAborted(task, context);
  });
  const input = { name: 'fleet_dispatch', arguments: { brief: 'x', task_id: 'one' } };
  const call = post(...statelessRequest(5, 'tools/call', input, 'fleet_dispatch'));
  await begun.promise;
  const [{ id: _, ...notice }, headers] = statelessRequest(0, 'notifications/cancelled', { requestId: 5 });
  await (await post(notice, headers)).text();
  const id = one.ledger.findByKey('operator', 'one')?.task.id ?? '';
  const other = { name: 'fleet_dispatch', arguments: { brief: 'y', task_id: 'two', wait_s: 0 } };
  await (await post(...statelessRequest(6, 'tools/call', other, 'fleet_dispatch'))).text();
  assert.equal(one.task(id).state, 'working');
  await one.gateway.cancel(id, { name: 'operator', scopes: new Set() });
  assert.match(await (await call).text(), /canceled/);
});

test('both generations get their own code for a resource that does not exist', async (t) => {
  const { post } = await mcpFleet(t, untilAborted);
  const uri = 'fleet://tasks/ghost/result';
  const old = await post({ jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri } });
  const { error } = JSON.parse(await old.text());
  assert.deepEqual([error.code, error.data], [-32002, { uri, reason: 'NOT_FOUND' }]);
  const answer = await post(...statelessRequest(1, 'resources/read', { uri }, uri));
  const { error: now } = JSON.parse(await answer.text());
  assert.deepEqual([now.code, now.data], [-32602, { uri }]);
});

test('a client of 2026-07-28 can listen to nothing, and its envelope is checked', async (t) => {
  const { post } = await mcpFleet(t, untilAborted);
  const listening = await post(
    ...statelessRequest(1, 'subscriptions/listen', { notifications: { toolsListChanged: true } }),
  );
  assert.match(await listening.text(), /limit reached/);
  const [body, headers] = statelessRequest(
    2,
    'tools/call',
    { name: 'fleet_peers', arguments: {} },
    'another',
  );
  const mismatch = await post(body, headers);
  assert.equal(mismatch.status, 400);
  assert.match(await mismatch.text(), /-32020/);
  const called = await post(
    ...statelessRequest(3, 'tools/call', { name: 'fleet_peers', arguments: {} }, 'fleet_peers'),
  );
  assert.equal(called.headers.get('content-type'), 'text/event-stream');
  assert.match(await called.text(), /"profile":"switch"/);
  const discovered = await post(...statelessRequest(4, 'server/discover'));
  assert.deepEqual(JSON.parse(await discovered.text()).result.supportedVersions, ['2026-07-28']);
});
