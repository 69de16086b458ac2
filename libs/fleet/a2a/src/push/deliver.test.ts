import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Ledger } from '@hermes-fleet/ledger';
import { HANDSHAKE_EXTENSION, type JsonObject } from '@hermes-fleet/protocol';
import { manualClock } from '@hermes-fleet/protocol/testing';
import { finish } from '../../testing/script.ts';
import { at, message, type Served, serve } from '../../testing/serve.ts';
import { startWebhook, type Webhook } from '../../testing/webhook.ts';
import type { PushResult } from './target.ts';

const TOKEN = 'token-of-the-client';
const AUTHENTICATION = { scheme: 'Bearer', credentials: 'credentials-of-the-target' };

/** The task of a message with a config, which runs until the test ends it. */
async function begin(served: Served, { url }: Webhook, more: JsonObject = {}): Promise<string> {
  const taskPushNotificationConfig = { id: 'c', url, ...more };
  const configuration = { returnImmediately: true, taskPushNotificationConfig };
  const { body } = await served.rpc('SendMessage', { ...message('work'), configuration });
  return String(at(body, 'result', 'task', 'id'));
}

const text = (ledger: Ledger, id: string, delta: string) =>
  ledger.append(id, { type: 'text', data: { text: delta } });

const kindOf = ({ body }: { readonly body: JsonObject }): string => Object.keys(body).join();

test('a target gets what a stream would carry, with the credentials of its config', async (t) => {
  const hook = await startWebhook(t);
  const results: PushResult[] = [];
  const served = await serve(t, {
    pushes: { onAttempt: (result) => results.push(result) },
    script: async () => undefined,
  });
  const id = await begin(served, hook, { token: TOKEN, authentication: AUTHENTICATION });
  const first = await hook.next();
  assert.equal(at(first.body, 'task', 'id'), id);
  assert.equal(first.headers['content-type'], 'application/a2a+json');
  assert.equal(first.headers.authorization, 'Bearer credentials-of-the-target');
  assert.equal(first.headers['x-a2a-notification-token'], TOKEN);
  await served.ledger.append(id, { type: 'started', data: {} }, { state: 'working' });
  assert.equal(at((await hook.next()).body, 'statusUpdate', 'status', 'state'), 'TASK_STATE_WORKING');
  await text(served.ledger, id, 'so far');
  assert.equal(at((await hook.next()).body, 'artifactUpdate', 'artifact', 'parts', 0, 'text'), 'so far');
  await finish(served.ledger, id, 'done', { text: 'it is done' });
  const last = [await hook.next(), await hook.next(), await hook.next()];
  assert.deepEqual(last.map(kindOf), ['artifactUpdate', 'artifactUpdate', 'statusUpdate']);
  assert.equal(at(last[2]?.body, 'statusUpdate', 'status', 'state'), 'TASK_STATE_COMPLETED');
  const ids = hook.received.map(({ headers }) => headers['webhook-id']);
  assert.equal(new Set(ids).size, 6);
  while (served.ledger.push.findConfig(id, 'c')?.state !== 'finished') await new Promise(setImmediate);
  assert.deepEqual(results, Array(6).fill('ok'));
  const { body } = await served.rpc('GetTask', { id });
  assert.deepEqual(at(body, 'result', 'metadata', 'urn:hermes-fleet:push'), [
    { id: 'c', state: 'finished', failures: 0 },
  ]);
  const logged = served.logLines.join('');
  for (const secret of [TOKEN, AUTHENTICATION.credentials, 'of-the-url'])
    assert.ok(!logged.includes(secret), secret);
});

test('a target of A2A 0.3 gets the task', async (t) => {
  const hook = await startWebhook(t);
  const served = await serve(t, { pushes: {}, script: async () => undefined });
  const pushNotificationConfig = { url: hook.url, token: TOKEN };
  const params = {
    message: { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'work' }] },
    configuration: { blocking: false, pushNotificationConfig },
  };
  const sent = await served.rpc('message/send', params, { headers: { 'a2a-version': '0.3' } });
  const id = String(at(sent.body, 'result', 'id'));
  const first = await hook.next();
  assert.equal(first.headers['content-type'], 'application/json');
  assert.deepEqual([first.body.kind, first.body.id], ['task', id]);
  await text(served.ledger, id, 'so far');
  await finish(served.ledger, id, 'done', { text: 'it is done' });
  const last = await hook.next();
  assert.equal(last.headers['x-a2a-notification-token'], TOKEN);
  assert.deepEqual([last.body.kind, at(last.body, 'status', 'state')], ['task', 'completed']);
  assert.equal(at(last.body, 'artifacts', 0, 'artifactId'), 'task-result');
  while (served.ledger.push.findConfig(id, id)?.state !== 'finished') await new Promise(setImmediate);
  assert.equal(hook.received.length, 2);
});

test('a config of an ended task gets the task, and is finished', async (t) => {
  const hook = await startWebhook(t);
  const served = await serve(t, { pushes: { metadata: () => ({ [HANDSHAKE_EXTENSION]: {} }) } });
  const { body } = await served.rpc('SendMessage', message('work'));
  const taskId = String(at(body, 'result', 'task', 'id'));
  await served.rpc('CreateTaskPushNotificationConfig', { taskId, id: 'late', url: hook.url });
  const { body: sent } = await hook.next();
  assert.equal(at(sent, 'task', 'status', 'state'), 'TASK_STATE_COMPLETED');
  assert.deepEqual(at(sent, 'task', 'metadata'), { [HANDSHAKE_EXTENSION]: {} });
  assert.equal(at(sent, 'task', 'artifacts', 0, 'artifactId'), 'task-result');
});

test('a deleted config sends no more, and holds up no other', async (t) => {
  const closed = Promise.withResolvers<void>();
  const dead = await startWebhook(t, (response) => void response.once('close', closed.resolve));
  const hook = await startWebhook(t);
  const served = await serve(t, {
    // On this clock, an attempt has no end of its own.
    pushes: { clock: manualClock() },
    script: async () => undefined,
  });
  const id = await begin(served, dead);
  await dead.next();
  await served.rpc('CreateTaskPushNotificationConfig', { taskId: id, id: 'other', url: hook.url });
  await hook.next();
  await served.rpc('DeleteTaskPushNotificationConfig', { taskId: id, id: 'c' });
  await closed.promise;
  await finish(served.ledger, id);
  while (served.ledger.push.findConfig(id, 'other')?.state !== 'finished') await new Promise(setImmediate);
  assert.equal(dead.received.length, 1);
});
