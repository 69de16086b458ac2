import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { startStockAgent } from '../../../../test/support/stock-agent.ts';
import { fleet, keysFolder } from '../../testing/profile-stub.ts';

for (const speaks of ['1.0', '0.3'] as const)
  test(`send talks to any A2A ${speaks} agent`, async (t) => {
    const agent = await startStockAgent(t, {
      speaks,
      behaviour: async (text) => (text.startsWith('ask') ? { ask: 'which one?' } : `did ${text}`),
    });
    const url = ['--url', new URL(agent.rpcUrl).origin];
    const done = await fleet(['send', 'it', ...url]);
    assert.equal(done.code, 0, done.stderr);
    assert.match(done.stdout, /^did it\n\n {2}status {5}completed\n {2}task /);
    const asked = await fleet(['send', 'ask', ...url]);
    assert.equal(asked.code, 3);
    assert.match(asked.stdout, / {2}asks {7}which one\?\n/);
    const [, id] = /to answer: fleet answer (\S+) "…" --url http/.exec(asked.stdout) ?? [];
    const shown = JSON.parse((await fleet(['task', String(id), ...url, '--json'])).stdout);
    assert.deepEqual([shown.state, shown.question, shown.result], ['input_required', 'which one?', null]);
    const answered = await fleet(['answer', String(id), 'the second', ...url]);
    assert.equal(answered.code, 0, answered.stderr);
    assert.match(answered.stdout, /did the second/);
    const again = await fleet(['answer', String(id), 'more', ...url]);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /asks nothing: it is completed/);
  });

test('an agent that answers with a message, or without streams, is understood', async (t) => {
  const says = await startStockAgent(t, { answers: 'message', behaviour: async (text) => `heard ${text}` });
  const heard = await fleet(['send', 'you', '--url', new URL(says.rpcUrl).origin]);
  assert.deepEqual([heard.code, heard.stdout], [0, 'heard you\n']);
  const mute = await startStockAgent(t, { streaming: false, behaviour: async (text) => `did ${text}` });
  const done = await fleet(['send', 'it', '--url', mute.cardUrl, '-o', 'json']);
  assert.equal(done.code, 0, done.stdout);
  assert.equal(JSON.parse(done.stdout).text, 'did it');
});

test('the token of --token-env goes to the agent, and never to another origin that a card names', async (t) => {
  const tokens: unknown[] = [];
  const server = createServer((request, response) => {
    tokens.push(request.headers.authorization);
    const result = { message: { messageId: 'r', role: 'ROLE_AGENT', parts: [{ text: 'ok' }] } };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(request.method === 'GET' ? card(rpc) : { jsonrpc: '2.0', id: 1, result }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  const origin = `http://127.0.0.1:${address.port}`;
  let rpc = `${origin}/rpc`;
  const args = ['send', 'x', '--url', origin, '--token-env', 'FLEET_TEST_TOKEN'];
  const send = () => fleet(args, '', { FLEET_TEST_TOKEN: 's3cret' });
  const sent = await send();
  assert.deepEqual([sent.code, sent.stdout], [0, 'ok\n'], sent.stderr);
  assert.deepEqual(tokens, [undefined, 'Bearer s3cret']);
  rpc = `http://localhost:${address.port}/rpc`;
  const refused = await send();
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /names http:\/\/localhost:\d+: to send the token there, give that address/);
  assert.equal(tokens.length, 3);
});

const card = (url: string) => ({
  name: 'A',
  supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
});

test('files that are too large together are refused', async (t) => {
  const large = join(tempDir(t, { prefix: 'fleet-send-' }), 'large.csv');
  writeFileSync(large, 'x'.repeat(750_001));
  const { code, stderr } = await fleet(['send', 'x', '--file', large]);
  assert.equal(code, 2);
  assert.match(stderr, /makes the files larger than 750000 bytes together: nothing was sent/);
});

test('a dispatch whose answer is lost is sent again under the same task_id', async (t) => {
  const { dir } = keysFolder(t);
  const ids: unknown[] = [];
  const server = createServer(async (request, response) => {
    const { id, params } = JSON.parse(await readAll(request));
    ids.push(params.message.parts[0].data.task.task_id);
    if (ids.length % 2 === 1) return void response.destroy();
    const task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } };
    const answer = JSON.stringify({ jsonrpc: '2.0', id, result: { task } });
    const isStream = request.headers.accept === 'text/event-stream';
    response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json');
    response.end(isStream ? `data: ${answer}\n\n` : answer);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  const reach = ['--dir', dir, '--reach', `switch=http://127.0.0.1:${address.port}`];
  for (const more of [[], ['--detach']]) {
    const { code, stderr } = await fleet(['send', 'x', ...reach, ...more]);
    assert.equal(code, 0, stderr);
  }
  assert.equal(ids.length, 4);
  assert.deepEqual([ids[0], ids[2]], [ids[1], ids[3]]);
});
