import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InboundMessage } from '@hermes-fleet/protocol/ports';
import { OWN_TOKEN, type ServeOptions, serve } from '../../testing/serve.ts';

const DATA = '{"type":"OWN", "payload":{"a":1e400,"a":"\\ud800" ,"__proto__":{"b":0.10}}}';
const DEEP = `{"type":"OWN","payload":${'['.repeat(5_000)}${']'.repeat(5_000)},"n":1}`;

/** A server whose intake only records its messages. */
async function intake(t: Parameters<typeof serve>[0], options: ServeOptions = {}) {
  const got: InboundMessage[] = [];
  const served = await serve(t, { sendScopes: ['own:send'], ...options });
  served.intake.accept = async (message) => {
    got.push(message);
    return { kind: 'reply', contextId: 'c', text: 'seen' };
  };
  const send = async (method: string, parts: string) => {
    const role = method.includes('/') ? 'user' : 'ROLE_USER';
    const params = `{"message":{"messageId":"m","role":"${role}","parts":${parts}}}`;
    const body = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`;
    return served.post(body, { token: OWN_TOKEN }).catch(() => undefined);
  };
  return { got, send };
}

test('the text of a data part is its raw text in the request, in both versions, streamed or not', async (t) => {
  const { got, send } = await intake(t);
  for (const method of ['SendMessage', 'SendStreamingMessage'])
    await send(method, `[{"text":"{\\"data\\":1}"}, {"data": ${DATA}},{"data":{"b":2}}]`);
  for (const method of ['message/send', 'message/stream'])
    await send(
      method,
      `[{"kind":"text","text":"x"},{"kind":"data","data":${DATA} },{"kind":"data","data":{"b":2}}]`,
    );
  assert.deepEqual(
    got.map(({ data }) => data.map(({ text }) => text)),
    Array.from({ length: 4 }, () => [DATA, '{"b":2}']),
  );
});

test('only a part that the intake reads from its text may be nested to any depth', async (t) => {
  const { got, send } = await intake(t, { readsText: (data) => data.type === 'OWN' });
  for (const method of ['SendMessage', 'SendStreamingMessage']) await send(method, `[{"data":${DEEP}}]`);
  await send('message/send', `[{"kind":"data","data":${DEEP}}]`);
  assert.deepEqual(
    got.map(({ data }) => data.map((part) => [part.text, part.data])),
    Array.from({ length: 3 }, () => [[DEEP, { type: 'OWN', n: 1 }]]),
  );
  const others = [
    `[{"data":${DEEP.replace('OWN', 'OTHER')}}]`,
    `[{"data":{"type":"OWN"},"metadata":{"a":${DEEP}}}]`,
    `[{"data":{"type":"OWN"}},{"data":${DEEP.replace('OWN', 'OTHER')}}]`,
    DEEP,
  ];
  for (const parts of others) await send('SendMessage', parts);
  assert.equal(got.length, 3);
});

test('deep nesting is refused when the intake reads no part from its text', async (t) => {
  const { got, send } = await intake(t);
  const answer = await send('SendMessage', `[{"data":${DEEP}}]`);
  assert.match(answer?.text ?? '', /-32600/);
  assert.deepEqual(got, []);
});
