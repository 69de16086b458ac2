import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAuthenticatingFetchWithRetry } from '@a2a-js/sdk/client';
import { deadline } from '@hermes-fleet/protocol/testing';
import { finish } from '../testing/script.ts';
import { at, message, serve, TOKEN } from '../testing/serve.ts';
import { sdkModeClient } from '../testing/stock-clients.ts';
import { startWebhook } from '../testing/webhook.ts';

test(
  'the client of 1.x in its 0.3 mode can create, get, list and delete a push config, and its target is told of the end',
  deadline,
  async (t) => {
    const hook = await startWebhook(t);
    const served = await serve(t, { pushes: {}, script: async () => undefined });
    const methods: unknown[] = [];
    const recording: typeof fetch = async (input, init) => {
      methods.push(JSON.parse(String(init?.body)).method);
      return await fetch(input, init);
    };
    const fetchImpl = createAuthenticatingFetchWithRetry(recording, {
      headers: async () => ({ Authorization: `Bearer ${TOKEN}` }),
      shouldRetryWithHeaders: async () => undefined,
    });
    const client = await sdkModeClient(served, fetchImpl);
    const configuration = { returnImmediately: true };
    const { body } = await served.rpc('SendMessage', { ...message('work'), configuration });
    const taskId = String(at(body, 'result', 'task', 'id'));

    const authentication = { scheme: 'Bearer', credentials: 'c' };
    const config = { tenant: '', id: 'mine', taskId, url: hook.url, token: 'tok', authentication };
    const named = { tenant: '', taskId, id: 'mine' };
    const asked = { tenant: '', taskId, pageSize: 0, pageToken: '' };
    assert.deepEqual(await client.createTaskPushNotificationConfig(config), config);
    assert.deepEqual(await client.getTaskPushNotificationConfig(named), config);
    assert.deepEqual((await client.listTaskPushNotificationConfig(asked)).configs, [config]);

    await finish(served.ledger, taskId);
    let last = await hook.next();
    while (at(last.body, 'status', 'state') !== 'completed') last = await hook.next();
    assert.deepEqual(
      [last.body.kind, last.body.id, last.headers['x-a2a-notification-token']],
      ['task', taskId, 'tok'],
    );

    await client.deleteTaskPushNotificationConfig(named);
    assert.deepEqual((await client.listTaskPushNotificationConfig(asked)).configs, []);
    const prefix = 'tasks/pushNotificationConfig/';
    assert.deepEqual(
      methods,
      ['set', 'get', 'list', 'delete', 'list'].map((method) => `${prefix}${method}`),
    );
  },
);
