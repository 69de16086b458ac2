import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ClientFactory,
  ClientFactoryOptions,
  createAuthenticatingFetchWithRetry,
  JsonRpcTransportFactory,
} from '@a2a-js/sdk/client';
import { deadline } from '@hermes-fleet/protocol/testing';
import * as legacy from 'a2a-sdk-0.3/client';
import { finish } from '../testing/script.ts';
import { at, message, type Served, serve, TOKEN } from '../testing/serve.ts';
import { startWebhook } from '../testing/webhook.ts';

const headers = {
  headers: async () => ({ Authorization: `Bearer ${TOKEN}` }),
  shouldRetryWithHeaders: async () => undefined,
};

async function begin(served: Served): Promise<string> {
  const configuration = { returnImmediately: true };
  const { body } = await served.rpc('SendMessage', { ...message('work'), configuration });
  return String(at(body, 'result', 'task', 'id'));
}

test("the SDK's client can create, get, list and delete a config, whose target is told of the end", async (t) => {
  const hook = await startWebhook(t);
  const served = await serve(t, { pushes: {}, script: async () => undefined });
  const transports = [
    new JsonRpcTransportFactory({ fetchImpl: createAuthenticatingFetchWithRetry(fetch, headers) }),
  ];
  const client = await new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { transports }),
  ).createFromUrl(served.url);
  const taskId = await begin(served);
  const authentication = { scheme: 'Bearer', credentials: 'c' };
  const config = { tenant: '', id: 'mine', taskId, url: hook.url, token: 'tok', authentication };
  assert.deepEqual(await client.createTaskPushNotificationConfig(config), config);
  assert.deepEqual(await client.getTaskPushNotificationConfig({ tenant: '', taskId, id: 'mine' }), config);
  const asked = { tenant: '', taskId, pageSize: 0, pageToken: '' };
  assert.deepEqual((await client.listTaskPushNotificationConfig(asked)).configs, [config]);
  await finish(served.ledger, taskId);
  while (!('statusUpdate' in (await hook.next()).body));
  await client.deleteTaskPushNotificationConfig({ tenant: '', taskId, id: 'mine' });
  assert.deepEqual((await client.listTaskPushNotificationConfig(asked)).configs, []);
});

test('so can the published client of A2A 0.3', deadline, async (t) => {
  const hook = await startWebhook(t);
  const served = await serve(t, { pushes: {}, script: async () => undefined });
  const transports = [
    new legacy.JsonRpcTransportFactory({
      fetchImpl: legacy.createAuthenticatingFetchWithRetry(fetch, headers),
    }),
  ];
  const client = await new legacy.ClientFactory(
    legacy.ClientFactoryOptions.createFrom(legacy.ClientFactoryOptions.default, { transports }),
  ).createFromUrl(served.url);
  const taskId = await begin(served);
  const pushNotificationConfig = { id: 'mine', url: hook.url, token: 'tok' };
  const config = { taskId, pushNotificationConfig };
  assert.deepEqual(await client.setTaskPushNotificationConfig(config), config);
  const named = { id: taskId, pushNotificationConfigId: 'mine' };
  assert.deepEqual(await client.getTaskPushNotificationConfig(named), config);
  assert.deepEqual(await client.listTaskPushNotificationConfig({ id: taskId }), [config]);
  await finish(served.ledger, taskId);
  while (at((await hook.next()).body, 'status', 'state') !== 'completed');
  await client.deleteTaskPushNotificationConfig(named);
  assert.deepEqual(await client.listTaskPushNotificationConfig({ id: taskId }), []);
});
