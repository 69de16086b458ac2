import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { fleetErrorOf, silentLog } from '@hermes-fleet/protocol/testing';
import { startStockAgent } from '../../../../../test/support/stock-agent.ts';
import { peerServer } from '../../testing/peer-server.ts';
import { createA2AClient } from '../index.ts';

const client = createA2AClient({ clock: systemClock, log: silentLog, extensions: [] });
const soon = { timeoutMs: 10_000 };
const streaming = () => ({ signal: new AbortController().signal, idleTimeoutMs: 10_000 });

test('an A2A 0.3 agent is discovered and called in A2A 0.3', async (t) => {
  const gate = Promise.withResolvers<void>();
  const agent = await startStockAgent(t, {
    speaks: '0.3',
    behaviour: async (text) => {
      if (text === 'slowly') await gate.promise;
      return text === 'ask' ? { ask: 'what?' } : `did ${text}`;
    },
  });
  const found = await client.discover(new URL(agent.rpcUrl).origin, soon);
  assert.deepEqual([found.url, found.version, found.card.name], [agent.rpcUrl, '0.3', 'Helper']);
  const peer = { name: 'old', url: found.url, version: found.version };

  const done = await client.send(
    peer,
    { messageId: 'm-1', contextId: 'c', text: 'it', blocking: true },
    soon,
  );
  assert.ok(done.kind === 'task');
  assert.deepEqual([done.task.state, done.task.terminal, done.task.text], ['completed', true, 'did it']);
  assert.deepEqual((await client.getTask(peer, done.task.id, soon)).artifacts, [
    {
      id: done.task.artifacts[0]?.id,
      name: 'reply',
      isComplete: true,
      parts: [{ kind: 'text', text: 'did it' }],
    },
  ]);
  assert.deepEqual((await client.inspectTask(peer, done.task.id, soon)).messageIds, ['m-1']);

  const asked = await client.send(peer, { messageId: 'm-2', text: 'ask', blocking: true }, soon);
  assert.ok(asked.kind === 'task');
  assert.deepEqual([asked.task.state, asked.task.statusText], ['input_required', 'what?']);

  const open = await client.send(peer, { messageId: 'm-3', text: 'slowly', blocking: false }, soon);
  assert.ok(open.kind === 'task' && !open.task.terminal);
  let last = '';
  for await (const { text } of client.watch(peer, open.task.id, streaming())) {
    last = text;
    gate.resolve();
  }
  assert.equal(last, 'did slowly');

  const streamed = [];
  for await (const reply of client.stream(
    peer,
    { messageId: 'm-4', text: 'stream', blocking: true },
    streaming(),
  ))
    streamed.push(reply.kind === 'task' ? `${reply.task.state} ${reply.task.text}` : 'message');
  assert.deepEqual([streamed.at(-1), streamed.length > 2], ['completed did stream', true]);

  assert.deepEqual(
    new Set(agent.methods),
    new Set(['message/send', 'tasks/get', 'tasks/resubscribe', 'message/stream']),
  );
  const none = await fleetErrorOf(client.listTasks(peer, 'c', soon));
  assert.match(none.message, /A2A 0\.3, which has no ListTasks/);
});

test('a 0.3 reply that is a message with files is converted', async (t) => {
  const peer = await peerServer(t, (_request, response) => {
    const parts = [
      { kind: 'text', text: 'see' },
      {
        kind: 'file',
        file: { bytes: Buffer.from('hey').toString('base64'), name: 'a.txt', mimeType: 'text/plain' },
      },
      { kind: 'file', file: { uri: 'https://x.example/b' } },
      { kind: 'data', data: { a: 1 } },
    ];
    const result = { kind: 'message', messageId: 'a', contextId: 'c', role: 'agent', parts };
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result }));
  });
  const reply = await client.send(
    { ...peer, version: '0.3' },
    { messageId: 'm', text: 'x', blocking: true },
    soon,
  );
  assert.deepEqual(reply, {
    kind: 'message',
    contextId: 'c',
    text: 'see',
    data: [{ a: 1 }],
    parts: [
      { kind: 'text', text: 'see' },
      { kind: 'file', name: 'a.txt', mediaType: 'text/plain', base64: 'aGV5', bytes: 3 },
      { kind: 'file', url: 'https://x.example/b' },
      { kind: 'data', data: { a: 1 } },
    ],
  });
});

const ODD: readonly (readonly [what: string, result: unknown])[] = [
  ['nothing', null],
  ['another kind', { kind: 'card', id: 'x' }],
  ['a task without a status', { kind: 'task', id: 'x' }],
  ['a status that is a word', { kind: 'task', id: 'x', status: 'done' }],
];
for (const [what, result] of ODD)
  test(`${what} instead of an A2A 0.3 answer is PEER_REFUSED`, async (t) => {
    const peer = await peerServer(t, (_request, response) =>
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result })),
    );
    const sending = client.send(
      { ...peer, version: '0.3' },
      { messageId: 'm', text: 'x', blocking: true },
      soon,
    );
    assert.equal((await fleetErrorOf(sending)).code, 'PEER_REFUSED');
  });
