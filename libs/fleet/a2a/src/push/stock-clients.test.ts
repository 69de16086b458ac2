import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createAuthenticatingFetchWithRetry } from '@a2a-js/sdk/client';
import { deadline } from '@hermes-fleet/protocol/testing';
import * as legacy from 'a2a-sdk-0.3/client';
import { finish } from '../../testing/script.ts';
import { at, message, serve, TOKEN } from '../../testing/serve.ts';
import { sdkClient, sdkModeClient } from '../../testing/stock-clients.ts';
import { startWebhook, type Webhook } from '../../testing/webhook.ts';

/** A service with a running task, a target, and a fetch that sends the token and keeps the methods that were called. */
async function start(t: TestContext) {
  const hook = await startWebhook(t);
  const served = await serve(t, { pushes: {}, script: async () => undefined });
  const methods: unknown[] = [];
  const recording: typeof fetch = async (input, init) => {
    if (init?.body) methods.push(JSON.parse(String(init.body)).method);
    return await fetch(input, init);
  };
  const fetchImpl = createAuthenticatingFetchWithRetry(recording, {
    headers: async () => ({ Authorization: `Bearer ${TOKEN}` }),
    shouldRetryWithHeaders: async () => undefined,
  });
  const configuration = { returnImmediately: true };
  const { body } = await served.rpc('SendMessage', { ...message('work'), configuration });
  const taskId = String(at(body, 'result', 'task', 'id'));
  return { hook, served, methods, fetchImpl, taskId };
}

/** Resolves when the target was told of the end of the task, in the shape of 1.0 or of 0.3. */
async function toldOfEnd(hook: Webhook): Promise<void> {
  for (;;) {
    const { headers, body } = await hook.next();
    const state = at(body, 'statusUpdate', 'status', 'state') ?? at(body, 'status', 'state');
    if (state !== 'TASK_STATE_COMPLETED' && state !== 'completed') continue;
    assert.equal(headers['x-a2a-notification-token'], 'tok');
    return;
  }
}

const OLD = ['set', 'get', 'list', 'delete', 'list'].map(
  (method) => `tasks/pushNotificationConfig/${method}`,
);
const NEW = ['Create', 'Get', 'List', 'Delete', 'List'].map(
  (method) => `${method}TaskPushNotificationConfig${method === 'List' ? 's' : ''}`,
);
const CLIENTS = [
  { name: '1.x', connect: sdkClient, expected: NEW },
  { name: '1.x in its 0.3 mode', connect: sdkModeClient, expected: OLD },
];

for (const { name, connect, expected } of CLIENTS)
  test(
    `the client ${name} can create, get, list and delete a config, whose target is told of the end`,
    deadline,
    async (t) => {
      const { hook, served, methods, fetchImpl, taskId } = await start(t);
      const client = await connect(served, fetchImpl);
      const authentication = { scheme: 'Bearer', credentials: 'c' };
      const config = { tenant: '', id: 'mine', taskId, url: hook.url, token: 'tok', authentication };
      const named = { tenant: '', taskId, id: 'mine' };
      const asked = { tenant: '', taskId, pageSize: 0, pageToken: '' };
      assert.deepEqual(await client.createTaskPushNotificationConfig(config), config);
      assert.deepEqual(await client.getTaskPushNotificationConfig(named), config);
      assert.deepEqual((await client.listTaskPushNotificationConfig(asked)).configs, [config]);
      await finish(served.ledger, taskId);
      await toldOfEnd(hook);
      await client.deleteTaskPushNotificationConfig(named);
      assert.deepEqual((await client.listTaskPushNotificationConfig(asked)).configs, []);
      assert.deepEqual(methods, expected);
    },
  );

test('so can the client 0.3.14', deadline, async (t) => {
  const { hook, served, methods, fetchImpl, taskId } = await start(t);
  const transports = [new legacy.JsonRpcTransportFactory({ fetchImpl })];
  const client = await new legacy.ClientFactory(
    legacy.ClientFactoryOptions.createFrom(legacy.ClientFactoryOptions.default, { transports }),
  ).createFromUrl(served.url);
  const pushNotificationConfig = { id: 'mine', url: hook.url, token: 'tok' };
  const config = { taskId, pushNotificationConfig };
  const named = { id: taskId, pushNotificationConfigId: 'mine' };
  assert.deepEqual(await client.setTaskPushNotificationConfig(config), config);
  assert.deepEqual(await client.getTaskPushNotificationConfig(named), config);
  assert.deepEqual(await client.listTaskPushNotificationConfig({ id: taskId }), [config]);
  await finish(served.ledger, taskId);
  await toldOfEnd(hook);
  await client.deleteTaskPushNotificationConfig(named);
  assert.deepEqual(await client.listTaskPushNotificationConfig({ id: taskId }), []);
  assert.deepEqual(methods, OLD);
});
