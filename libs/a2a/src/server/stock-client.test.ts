import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Role, type SendMessageRequest, TaskState } from '@a2a-js/sdk';
import {
  ClientFactory,
  ClientFactoryOptions,
  createAuthenticatingFetchWithRetry,
  JsonRpcTransportFactory,
} from '@a2a-js/sdk/client';
import { TaskNotFoundError } from '@a2a-js/sdk/errors';
import { finish } from '../testing/script.ts';
import { type Served, serve, TOKEN } from '../testing/serve.ts';

const authenticated = createAuthenticatingFetchWithRetry(fetch, {
  headers: async () => ({ Authorization: `Bearer ${TOKEN}` }),
  shouldRetryWithHeaders: async () => undefined,
});

async function stockClient({ url }: Served) {
  const transports = [new JsonRpcTransportFactory({ fetchImpl: authenticated })];
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { transports }),
  );
  return await factory.createFromUrl(url);
}

function request(text: string, returnImmediately = false): SendMessageRequest {
  return {
    tenant: '',
    message: {
      messageId: 'm-1',
      contextId: '',
      taskId: '',
      role: Role.ROLE_USER,
      parts: [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' }],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    },
    configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately },
    metadata: undefined,
  };
}

test("the SDK's client can read the card, send, get, stream, subscribe, list and cancel", async (t) => {
  const served = await serve(t, {
    script: async (id, { text }) => {
      if (text !== 'now') return;
      await served.ledger.append(id, { type: 'started', data: {} });
      await served.ledger.append(id, { type: 'text', data: { text: 'par' } });
      await finish(served.ledger, id, 'done', { text: 'part and all' });
    },
  });
  const client = await stockClient(served);
  const card = await client.getAgentCard();
  assert.equal(card.supportedInterfaces[0]?.url, served.rpcUrl);

  const sent = await client.sendMessage(request('now'));
  assert.ok('status' in sent);
  assert.equal(sent.status?.state, TaskState.TASK_STATE_COMPLETED);
  assert.deepEqual(
    sent.artifacts.map(({ name }) => name),
    ['task-result', 'text'],
  );
  const got = await client.getTask({ tenant: '', id: sent.id });
  assert.deepEqual(got, sent);

  const kinds: (string | undefined)[] = [];
  for await (const event of client.sendMessageStream(request('now'))) kinds.push(event.payload?.$case);
  assert.deepEqual([kinds[0], kinds.at(-1)], ['task', 'statusUpdate']);

  const open = await client.sendMessage(request('later', true));
  assert.ok('status' in open);
  const subscription = client.resubscribeTask({ tenant: '', id: open.id });
  assert.equal((await subscription.next()).value?.payload?.$case, 'task');
  const canceled = await client.cancelTask({ tenant: '', id: open.id, metadata: undefined });
  assert.equal(canceled.status?.state, TaskState.TASK_STATE_CANCELED);
  const last: (TaskState | undefined)[] = [];
  for await (const { payload } of subscription) {
    if (payload?.$case === 'statusUpdate') last.push(payload.value.status?.state);
  }
  assert.deepEqual(last, [TaskState.TASK_STATE_CANCELED]);

  const list = await client.listTasks({
    tenant: '',
    contextId: '',
    status: TaskState.TASK_STATE_UNSPECIFIED,
    pageToken: '',
    statusTimestampAfter: undefined,
  });
  assert.equal(list.totalSize, 3);
  await assert.rejects(client.getTask({ tenant: '', id: 'unknown' }), TaskNotFoundError);
});
