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

const BODY = {
  max_tokens: 8192,
  temperature: 0.2,
  stream_options: {},
  tools: [{ function: { strict: true } }],
};

/** A model's server that refuses some bodies with a text, and what it was sent; `send` resolves with the status. */
function refusing(refuse: (body: JsonObject) => string | object | undefined, extra: JsonObject = {}) {
  const bodies: JsonObject[] = [];
  const learnt: object[] = [];
  const server: typeof fetch = async (_, init) => {
    const body: JsonObject = JSON.parse(String(init?.body));
    bodies.push(body);
    // Calls that begin together are all refused before one is sent again.
    await new Promise((resolve) => void setImmediate(resolve));
    const said = refuse(body);
    if (said === undefined) return new Response('data: [DONE]');
    return new Response(
      typeof said === 'string' ? JSON.stringify({ error: { message: said } }) : JSON.stringify(said),
      { status: 400 },
    );
  };
  const call = chatRequestFetch(server, {
    extra,
    limitName: 'max_tokens',
    onLearnt: (sent) => void learnt.push(sent),
  });
  const send = async (): Promise<number> =>
    (await call('http://127.0.0.1/', { method: 'POST', body: JSON.stringify(BODY) })).status;
  return { send, bodies, learnt };
}

test('calls that begin together are all answered, and later ones are sent at once as the provider takes them', async () => {
  const { send, bodies, learnt } = refusing((body) => {
    if ('max_tokens' in body)
      return "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    return 'temperature' in body
      ? "Unsupported value: 'temperature' does not support 0.2 with this model."
      : undefined;
  });
  assert.deepEqual(await Promise.all([send(), send(), send()]), [200, 200, 200]);
  const before = bodies.length;
  assert.equal(await send(), 200);
  assert.equal(bodies.length, before + 1);
  assert.deepEqual(Object.keys(bodies.at(-1) ?? {}).toSorted(), [
    'max_completion_tokens',
    'stream_options',
    'tools',
  ]);
  assert.ok(learnt.length > 0);
});

test('nothing is learnt from a refusal that sending otherwise does not end, nor from the request that it repeats', async () => {
  const echo = {
    detail: [{ loc: ['body', 'messages'], msg: 'Input should be valid: unknown role', input: BODY }],
  };
  for (const said of [
    echo,
    `[{'loc': ('body',), 'msg': 'unknown role', 'input': ${JSON.stringify(BODY)}}]`,
  ]) {
    const { send, bodies, learnt } = refusing(() => said);
    assert.equal(await send(), 400);
    assert.equal(bodies.length, 1);
    assert.deepEqual(learnt, []);
  }
  const { send, bodies, learnt } = refusing(() => 'temperature is not supported');
  assert.deepEqual([await send(), await send()], [400, 400]);
  assert.equal(bodies[2]?.temperature, 0.2);
  assert.deepEqual(learnt, []);
});

const EXTRAS: readonly JsonObject[] = [{}, { max_tokens: 8000 }];

test('the output limit is lowered to what a refusal names, also where extra_body sets it', async () => {
  const SAID = [
    'max_tokens is too large: 8192. This model supports at most 4096 completion tokens, whereas you provided 8192.',
    '`max_tokens` must be less than or equal to `4096`, the maximum value for `max_tokens` is less than the window',
    'max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for m-3-5-20241022',
    'Invalid max_tokens value, the valid range of max_tokens is [1, 4096]',
    'The value of max_tokens cannot be greater than 4,096.',
    'max_tokens must be between 1 and 4096',
    'maxOutputTokens value of 8192 but the supported range is from 1 (inclusive) to 4097 (exclusive)',
  ];
  for (const said of SAID)
    for (const extra of EXTRAS) {
      const { send, bodies } = refusing(
        ({ max_tokens: limit }) => (Number(limit) > 4096 ? said : undefined),
        extra,
      );
      assert.equal(await send(), 200, said);
      assert.deepEqual([bodies.length, bodies[1]?.max_tokens], [2, 4096], said);
    }
});

test('a figure of something else is no output limit', async () => {
  const SAID = [
    'Invalid messages[3]. See https://docs/x?limit 500; max_tokens 8192',
    'max_tokens is invalid: your balance allows up to 120 tokens',
    'max_tokens must be greater than thinking.budget_tokens (max 1024)',
    "This model's maximum context length is 4096 tokens, your messages have 5000 tokens (max_tokens 8192).",
  ];
  for (const said of SAID) {
    const { send, bodies } = refusing(() => said);
    assert.equal(await send(), 400, said);
    for (const body of bodies) assert.equal(body.max_tokens ?? body.max_completion_tokens, 8192, said);
  }
});

test('`strict` of a tool is left out where it is refused, and a property of that name stays', async () => {
  const properties = { strict: { type: 'boolean' } };
  let sent: JsonObject = {};
  const server: typeof fetch = async (_, init) => {
    sent = JSON.parse(String(init?.body));
    const isStrict = /"strict":true/.test(String(init?.body));
    return isStrict
      ? new Response('{"message":"Unknown parameter: tools[0].function.strict"}', { status: 400 })
      : new Response('');
  };
  const body = JSON.stringify({ tools: [{ function: { strict: true, parameters: { properties } } }] });
  await chatRequestFetch(server, { extra: {}, limitName: 'max_tokens' })('http://127.0.0.1/', {
    method: 'POST',
    body,
  });
  assert.deepEqual(sent, { tools: [{ function: { parameters: { properties } } }] });
});
