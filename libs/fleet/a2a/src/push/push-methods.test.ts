import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { finish } from '../../testing/script.ts';
import { at, message, OTHER_TOKEN, type Served, serve } from '../../testing/serve.ts';
import { startWebhook } from '../../testing/webhook.ts';

const V03 = { headers: { 'a2a-version': '0.3' } };
const AUTHENTICATION = { scheme: 'Bearer', credentials: 'of-the-target' };

/** The id of a task that runs until it is finished by the test. */
async function begin(served: Served, more: JsonObject = {}): Promise<string> {
  const configuration = { returnImmediately: true, ...more };
  const { body } = await served.rpc('SendMessage', { ...message('work'), configuration });
  return String(at(body, 'result', 'task', 'id'));
}

const codeOf = (body: JsonObject): unknown => at(body, 'error', 'code');

test('a config is created, read, listed and deleted', async (t) => {
  const hook = await startWebhook(t);
  const served = await serve(t, { pushes: {}, script: async () => undefined });
  const taskId = await begin(served);
  const config = { taskId, id: 'mine', url: hook.url, token: 'tok', authentication: AUTHENTICATION };
  const created = await served.rpc('CreateTaskPushNotificationConfig', config);
  assert.deepEqual(at(created.body, 'result'), config);
  const got = await served.rpc('GetTaskPushNotificationConfig', { taskId, id: 'mine' });
  assert.deepEqual(at(got.body, 'result'), config);
  const second = await served.rpc('CreateTaskPushNotificationConfig', { task_id: taskId, url: hook.url });
  const listed = await served.rpc('ListTaskPushNotificationConfigs', { taskId });
  assert.deepEqual(at(listed.body, 'result', 'configs'), [config, at(second.body, 'result')]);
  for (let times = 0; times < 2; times += 1) {
    const deleted = await served.rpc('DeleteTaskPushNotificationConfig', { taskId, id: 'mine' });
    assert.deepEqual([deleted.status, deleted.body.error], [200, undefined]);
  }
  const gone = await served.rpc('GetTaskPushNotificationConfig', { taskId, id: 'mine' });
  assert.equal(codeOf(gone.body), -32001);
});

test('a client of A2A 0.3 has the same methods', async (t) => {
  const hook = await startWebhook(t);
  const served = await serve(t, { pushes: {}, script: async () => undefined });
  const taskId = await begin(served);
  const authentication = { schemes: ['Bearer'], credentials: 'c' };
  const pushNotificationConfig = { url: hook.url, token: 'tok', authentication };
  const rpc = (name: string, params: JsonObject) =>
    served.rpc(`tasks/pushNotificationConfig/${name}`, params, V03);
  const set = await rpc('set', { taskId, pushNotificationConfig });
  const expected = { taskId, pushNotificationConfig: { ...pushNotificationConfig, id: taskId } };
  assert.deepEqual(at(set.body, 'result'), expected);
  const asked: JsonObject[] = [{}, { pushNotificationConfigId: '' }, { pushNotificationConfigId: taskId }];
  for (const more of asked)
    assert.deepEqual(at((await rpc('get', { id: taskId, ...more })).body, 'result'), expected);
  assert.deepEqual(at((await rpc('list', { id: taskId })).body, 'result'), [expected]);
  await rpc('delete', { id: taskId, pushNotificationConfigId: taskId });
  assert.equal(codeOf((await rpc('get', { id: taskId })).body), -32001);
  const two = {
    ...pushNotificationConfig,
    authentication: { schemes: ['Bearer', 'Basic'], credentials: 'c' },
  };
  assert.equal(codeOf((await rpc('set', { taskId, pushNotificationConfig: two })).body), -32602);
});

test("another caller's task is unknown to every method", async (t) => {
  const hook = await startWebhook(t);
  const served = await serve(t, { pushes: {}, script: async () => undefined });
  const taskId = await begin(served);
  await served.rpc('CreateTaskPushNotificationConfig', { taskId, id: 'mine', url: hook.url });
  for (const [name, params] of [
    ['CreateTaskPushNotificationConfig', { id: 'theirs', url: hook.url }],
    ['GetTaskPushNotificationConfig', { id: 'mine' }],
    ['ListTaskPushNotificationConfigs', {}],
    ['DeleteTaskPushNotificationConfig', { id: 'mine' }],
  ] as const) {
    const foreign = await served.rpc(name, { ...params, taskId }, { token: OTHER_TOKEN });
    const unknown = await served.rpc(name, { ...params, taskId: 'nobody' }, { token: OTHER_TOKEN });
    assert.equal(codeOf(foreign.body), -32001, name);
    assert.deepEqual(foreign.text.replace(taskId, 'nobody'), unknown.text, name);
  }
  assert.equal(served.ledger.push.list(taskId).length, 1);
});

test('a wrong config names its field, and no task is made for it', async (t) => {
  const served = await serve(t, { pushes: { rules: {} } });
  const wrong: [JsonObject, string][] = [
    [{}, 'url'],
    [{ url: 'http://127.0.0.1/x' }, 'url'],
    [{ url: 'http://[::1]/x' }, 'url'],
    [{ url: 'http://169.254.169.254/latest' }, 'url'],
    [{ url: 'file:///etc/passwd' }, 'url'],
    [{ url: 'http://u:p@8.8.8.8/' }, 'url'],
    [{ url: 'http://8.8.8.8/', token: 'a\r\nHost: b' }, 'token'],
    [{ url: 'http://8.8.8.8/', authentication: { scheme: 'Bearer' } }, 'authentication.credentials'],
    [
      { url: 'http://8.8.8.8/', authentication: { scheme: 'a b', credentials: 'c' } },
      'authentication.scheme',
    ],
    [{ url: 'http://8.8.8.8/', taskId: 'another' }, 'taskId'],
  ];
  for (const [config, field] of wrong) {
    const params = { ...message('work'), configuration: { taskPushNotificationConfig: config } };
    const { body } = await served.rpc('SendMessage', params);
    assert.equal(codeOf(body), -32602, JSON.stringify(config));
    const path = String(at(body, 'error', 'data', 1, 'fieldViolations', 0, 'field'));
    assert.ok(path.endsWith(field), `${path} instead of ${field}`);
  }
  assert.equal(served.intake.inbound.length, 0);
});

test('a caller and a task have no more configs than allowed', async (t) => {
  const hook = await startWebhook(t);
  const served = await serve(t, {
    pushes: { limits: { perTask: 1, perCaller: 2 } },
    script: async () => undefined,
  });
  const taskPushNotificationConfig = { url: hook.url };
  const first = await begin(served, { taskPushNotificationConfig });
  const more = await served.rpc('CreateTaskPushNotificationConfig', { taskId: first, url: hook.url });
  assert.equal(more.status, 503);
  await begin(served, { taskPushNotificationConfig });
  const params = { ...message('x'), configuration: { taskPushNotificationConfig } };
  assert.equal((await served.rpc('SendMessage', params)).status, 503);
  assert.equal(served.intake.inbound.length, 2);
  await finish(served.ledger, first);
});
