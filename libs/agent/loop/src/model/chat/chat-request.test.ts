import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { chatRequestFetch } from './chat-request.ts';

/** The body that is sent for this one, through these changes. */
async function sentFor(
  body: string,
  changes: { readonly extra?: JsonObject; readonly limitName?: 'max_tokens' | 'max_completion_tokens' },
): Promise<string> {
  let sent = '';
  const take: typeof fetch = async (_, init) => {
    sent = String(init?.body);
    return new Response('');
  };
  const { extra = {}, limitName } = changes;
  await chatRequestFetch(take, { extra, limitName })('http://127.0.0.1/', { method: 'POST', body });
  return sent;
}

test('a body without changes is sent as it is, to the letter', async () => {
  const body = '{"model":"a \\"b\\"","n":1.5,"max_tokens":20,"messages":[] }';
  assert.equal(await sentFor(body, { limitName: 'max_tokens' }), body);
  assert.equal(await sentFor('no JSON', {}), 'no JSON');
});

test('a limit is renamed wherever it is, and no field of that name inside of others hides it', async () => {
  const inside =
    '{"text":"\\",\\"max_completion_tokens\\":1","messages":[{"max_completion_tokens":1}],"max_tokens":20}';
  const limitName = 'max_completion_tokens';
  for (const body of [
    inside,
    '{"max_tokens":20,"messages":[]}',
    '{"metadata":{"a":1,"max_completion_tokens":2},"max_tokens":20}',
  ]) {
    const { max_tokens: limit, ...rest } = JSON.parse(body);
    assert.deepEqual(JSON.parse(await sentFor(body, { limitName })), { ...rest, [limitName]: limit });
  }
});

test('extra fields are added, and replace what is there', async () => {
  const body = '{"max_tokens":20,"top_k":1,"messages":[]}';
  const sent = JSON.parse(await sentFor(body, { limitName: 'max_tokens', extra: { top_k: 5, seed: 1 } }));
  assert.deepEqual(sent, { max_tokens: 20, top_k: 5, messages: [], seed: 1 });
});
