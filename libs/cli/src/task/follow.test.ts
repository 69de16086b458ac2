import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { createA2AClient } from '@hermes-fleet/a2a/client';
import { silentLog, systemClock } from '@hermes-fleet/protocol/ports';
import { followTask } from './follow.ts';

/** Its waits end at once, and are counted. */
function patient() {
  const waits: number[] = [];
  const sleep = async (ms: number): Promise<void> => {
    waits.push(ms);
  };
  return { waits, clock: { ...systemClock, sleep } };
}

const task = (state: string) => ({ id: 't', contextId: 'c', status: { state: `TASK_STATE_${state}` } });

/** An agent that answers each GetTask with the next state; a stream sends the state `streamed`, if any, and breaks off. */
async function agent(t: TestContext, states: readonly string[], streamed?: string) {
  const asked: string[] = [];
  let reads = 0;
  const server = createServer(async (request, response) => {
    const { method } = JSON.parse(await text(request));
    asked.push(method);
    if (method === 'GetTask') {
      const state = states[reads++];
      if (state === undefined) response.writeHead(500).end();
      else response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: task(state) }));
      return;
    }
    if (streamed === undefined) return void response.destroy();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const event = { jsonrpc: '2.0', id: 1, result: { task: task(streamed) } };
    response.write(`data: ${JSON.stringify(event)}\n\n`, () => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return { asked, peer: { name: 'p', url: `http://127.0.0.1:${address.port}/` } };
}

const client = createA2AClient({ clock: systemClock, log: silentLog, extensions: [] });
const { signal } = new AbortController();

test('a stream that breaks is opened again after a question for the task, which may have ended', async (t) => {
  const { asked, peer } = await agent(t, ['WORKING', 'WORKING', 'COMPLETED'], 'WORKING');
  const { clock, waits } = patient();
  const seen: string[] = [];
  const onUpdate = ({ state }: { readonly state: string }): void => void seen.push(state);
  const done = await followTask({ client, clock, peer, streams: true, signal, onUpdate }, 't');
  assert.equal(done.state, 'completed');
  assert.deepEqual(asked, ['GetTask', 'SubscribeToTask', 'GetTask', 'SubscribeToTask', 'GetTask']);
  assert.equal(seen.at(-1), 'completed');
  assert.equal(waits.length, 2);
});

test('an agent without streams is only asked; a task that asks its caller ends the wait', async (t) => {
  const { asked, peer } = await agent(t, ['WORKING', 'INPUT_REQUIRED'], 'WORKING');
  const { clock, waits } = patient();
  const options = { client, clock, peer, streams: false, signal, onUpdate: () => undefined };
  assert.equal((await followTask(options, 't')).state, 'input_required');
  assert.deepEqual([asked, waits], [['GetTask', 'GetTask'], [2000]]);
});

test('an agent that stops answering is given up after about a minute', async (t) => {
  const { asked, peer } = await agent(t, ['WORKING'], 'WORKING');
  const { clock, waits } = patient();
  const options = { client, clock, peer, streams: false, signal, onUpdate: () => undefined };
  await assert.rejects(followTask(options, 't'), { code: 'PEER_UNREACHABLE' });
  assert.equal(asked.length, 10);
  const total = waits.reduce((sum, ms) => sum + ms, 0);
  assert.ok(total > 45_000 && total < 90_000, `${total} ms`);
});

test('an agent that answers for the task but streams nothing is given up as well', async (t) => {
  const { asked, peer } = await agent(t, Array(20).fill('WORKING'));
  const { clock, waits } = patient();
  const options = { client, clock, peer, streams: true, signal, onUpdate: () => undefined };
  await assert.rejects(followTask(options, 't'), { code: 'PEER_UNREACHABLE' });
  assert.deepEqual([asked.length, waits.length], [18, 8]);
});
