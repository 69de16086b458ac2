import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWebhook } from '../../libs/fleet/a2a/testing/webhook.ts';
import { startProfile } from '../support/lone-profile.ts';
import { call, dispatch, message, runbook } from '../support/rpc.ts';

test('a profile that is killed while a push target fails delivers the end of the task after its restart', async (t) => {
  let isUp = false;
  const hook = await startWebhook(t, (response) => response.writeHead(isUp ? 200 : 500).end());
  const profile = await startProfile(t, {
    name: 'neo',
    fleet: { push: { allow_internal: ['127.0.0.1'], signing_key_env: 'PUSH_KEY' } },
    env: { PUSH_KEY: Buffer.alloc(32, 7).toString('base64') },
  });
  const card = await (await fetch(`${profile.url}/.well-known/agent-card.json`)).json();
  assert.equal((card as { capabilities: Record<string, unknown> }).capabilities.pushNotifications, true);
  const sent = message(dispatch({ taskId: 'pushed', brief: runbook('note.txt', 'hello', 'cat note.txt') }));
  const taskPushNotificationConfig = { id: 'c', url: hook.url, token: 'token-of-the-target' };
  const params = { ...sent, configuration: { taskPushNotificationConfig } };
  const { body } = await call(profile, 'SendMessage', params);
  assert.equal(body.result.task.status.state, 'TASK_STATE_COMPLETED', JSON.stringify(body));
  const { id } = body.result.task;
  await hook.next();
  await profile.kill();
  isUp = true;
  // The first of these was read above.
  for (let read = hook.received.length; read > 1; read -= 1) await hook.next();
  await profile.start();
  const again = await hook.next();
  assert.equal(again.headers['webhook-id'], hook.received[0]?.headers['webhook-id']);
  assert.match(String(again.headers['webhook-signature']), /^v1a,/);
  for (let last = again; !isEnd(last.body); ) last = await hook.next();
  const log = profile.log();
  assert.match(log, /"public_key":"whpk_/);
  assert.ok(!log.includes('token-of-the-target') && !log.includes('of-the-url'));
  const task = await call(profile, 'GetTask', { id });
  assert.equal(task.body.result.metadata['urn:hermes-fleet:push'][0].id, 'c');
  const metrics = await (await fetch(`${profile.url}/metrics`)).text();
  assert.match(metrics, /fleet_push_attempts_total\{[^}]*result="ok"[^}]*\} [1-9]/);
});

function isEnd(body: unknown): boolean {
  return JSON.stringify(body).includes('TASK_STATE_COMPLETED');
}
