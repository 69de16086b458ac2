import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { delegation, task } from '../../testing/prose-script.ts';
import { NOBODY_TO_ASK, scriptedPeer } from '../../testing/scripted-peer.ts';
import { delegateProse } from './delegate-prose.ts';

it('a kept connection that the agent has closed loses neither the task nor the answer, and repeats neither', async (t) => {
  const received: string[] = [];
  const results = [
    task('r-1', 'COMPLETED'),
    { task: task('r-1', 'INPUT_REQUIRED') },
    { message: { messageId: 'a', parts: [{ text: 'It is done.' }] } },
  ];
  const used = new WeakSet<Socket>();
  const server = createServer(async (request, reply) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    received.push(JSON.parse(body).method);
    // Closes each connection after its first request.
    if (used.has(request.socket)) request.socket.destroy();
    else reply.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: results.shift() }));
    used.add(request.socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  const endpoint = { name: 'helper', url: `http://127.0.0.1:${address.port}/` };
  const { options } = await scriptedPeer(t, []);
  await options.client.getTask(endpoint, 'r-1', { timeoutMs: 20_000 });
  // Then the connection is free.
  await turn();
  const questions = {
    ...NOBODY_TO_ASK,
    ask: async () => ({ messageId: 'm-1:answer-1', text: 'The blue one.' }),
  };
  const outcome = await delegateProse({ ...options, endpoint, questions }, delegation);
  assert.ok(outcome.kind === 'result');
  assert.deepEqual([outcome.result.status, outcome.result.text], ['done', 'It is done.']);
  assert.deepEqual(received, ['GetTask', 'SendMessage', 'SendMessage']);
});
