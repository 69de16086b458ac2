import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { until } from '../support/fleet.ts';
import { startProfile } from '../support/lone-profile.ts';
import { call, dispatch, message, resultOf, type Target } from '../support/rpc.ts';

const MAX_OPEN_FILES = 64;
/** More than the process can have. */
const IDLE_CONNECTIONS = 2 * MAX_OPEN_FILES;
/** A transaction of this size needs several pages, and no temporary file. */
const LARGE_BRIEF = 'hello world '.repeat(80_000);

/** A client that keeps its one connection, so that it is served when no further one is. */
function keptConnection(t: TestContext, { url, token }: Target) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  return async (path: string, sent?: object): Promise<{ status: number; body: string }> => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
    const asked = request(`${url}${path}`, { agent, headers, method: sent ? 'POST' : 'GET' });
    asked.end(sent && JSON.stringify(sent));
    const [reply] = await once(asked, 'response');
    let body = '';
    for await (const chunk of reply) body += chunk;
    return { status: reply.statusCode, body };
  };
}

/** Opens connections that send nothing, until the profile turns one away. */
async function useUp(t: TestContext, { url }: Target): Promise<Socket[]> {
  const { hostname, port } = new URL(url);
  const turnedAway = Promise.withResolvers<void>();
  const idle = Array.from({ length: IDLE_CONNECTIONS }, () => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.on('close', () => turnedAway.resolve());
    return socket;
  });
  t.after(() => idle.forEach((socket) => void socket.destroy()));
  await turnedAway.promise;
  return idle;
}

test('a profile that ran out of descriptors stores tasks, and is ready', { timeout: 120_000 }, async (t) => {
  // By default, few connections without a token stay open, and none of them for long.
  const limits = { max_unauthenticated_connections: 4_096, unauthenticated_idle_s: 600 };
  const neo = await startProfile(t, { name: 'neo', maxOpenFiles: MAX_OPEN_FILES, fleet: { limits } });
  const ask = keptConnection(t, neo);
  assert.equal((await ask('/ready')).status, 200);

  const idle = await useUp(t, neo);
  for (let sent = 0; sent < 5; sent += 1) {
    const contract = { write: false, reply_schema: 'prose' };
    const large = dispatch({ taskId: `large-${sent}`, brief: LARGE_BRIEF, task: contract });
    const params = message(large, { returnImmediately: true });
    const { status, body } = await ask('/jsonrpc', {
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params,
    });
    assert.deepEqual([status, typeof JSON.parse(body).result?.task?.id], [200, 'string'], body);
  }
  const ready = await ask('/ready');
  assert.equal(ready.status, 200, ready.body);

  for (const socket of idle) socket.destroy();
  await until(
    async () => (await fetch(`${neo.url}/ready`).catch(() => undefined))?.status === 200,
    'the profile to take connections again',
    20_000,
  );
  const small = dispatch({ brief: '```sh\necho hi\n```', task: { write: false, reply_schema: 'prose' } });
  const { body } = await call(neo, 'SendMessage', message(small));
  assert.equal(resultOf(body.result.task)?.status, 'done', JSON.stringify(body));
});
