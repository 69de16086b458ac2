import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ClientFactory,
  ClientFactoryOptions,
  createAuthenticatingFetchWithRetry,
  JsonRpcTransportFactory,
} from 'a2a-sdk-0.3/client';
import { finish } from '../testing/script.ts';
import { serve, TOKEN } from '../testing/serve.ts';

const fetchImpl = createAuthenticatingFetchWithRetry(fetch, {
  headers: async () => ({ Authorization: `Bearer ${TOKEN}` }),
  shouldRetryWithHeaders: async () => undefined,
});

test('the published client of A2A 0.3 finds its transport in the card, and can send, stream and get', async (t) => {
  const served = await serve(t, { script: (id) => finish(served.ledger, id, 'done', { text: 'all' }) });
  const transports = [new JsonRpcTransportFactory({ fetchImpl })];
  const client = await new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { transports }),
  ).createFromUrl(served.url);

  const message = { kind: 'message', messageId: 'm-1', role: 'user' } as const;
  const params = { message: { ...message, parts: [{ kind: 'text' as const, text: 'now' }] } };
  const sent = await client.sendMessage(params);
  assert.ok(sent.kind === 'task', JSON.stringify(sent));
  assert.equal(sent.status.state, 'completed');
  assert.deepEqual(
    sent.artifacts?.map(({ name }) => name),
    ['task-result', 'text'],
  );
  assert.deepEqual(await client.getTask({ id: sent.id }), sent);

  const kinds: string[] = [];
  const streamed = { message: { ...params.message, messageId: 'm-2' } };
  for await (const event of client.sendMessageStream(streamed)) kinds.push(event.kind);
  assert.deepEqual([kinds[0], kinds.at(-1)], ['task', 'status-update']);
});
