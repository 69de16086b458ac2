import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { CLIENT_GONE, CLOSING, OpenCalls } from './open-calls.ts';

/** Both ends of a connection, which are closed after the test. */
async function connection(t: TestContext): Promise<{ client: Socket; socket: Socket }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const client = connect({ port: typeof address === 'object' ? (address?.port ?? 0) : 0, host: '127.0.0.1' });
  const [socket] = await once(server, 'connection');
  t.after(() => {
    client.destroy();
    socket.destroy();
    server.close();
  });
  return { client, socket };
}

test('all calls of a connection abort when it closes, and those of others do not', async (t) => {
  const calls = new OpenCalls({ send: 10, stream: 10 });
  const [{ client, socket }, other] = await Promise.all([connection(t), connection(t)]);
  const [first, second] = [
    calls.openCall('switch', 'send', socket),
    calls.openCall('switch', 'stream', socket),
  ];
  const third = calls.openCall('switch', 'send', other.socket);
  const closed = once(socket, 'close');
  client.destroy();
  await closed;
  assert.deepEqual([first.signal.reason, second.signal.reason], [CLIENT_GONE, CLIENT_GONE]);
  assert.equal(third.signal.aborted, false);
  assert.equal(calls.size, 3);
});

test('a call on a connection that has closed is aborted from the start', async (t) => {
  const calls = new OpenCalls({ send: 10, stream: 10 });
  const { socket } = await connection(t);
  const closed = once(socket, 'close');
  socket.destroy();
  await closed;
  assert.equal(calls.openCall('switch', 'send', socket).signal.reason, CLIENT_GONE);
});

test('close aborts the open calls and resolves when the last one is released', async (t) => {
  const calls = new OpenCalls({ send: 10, stream: 10 });
  const { socket } = await connection(t);
  calls.openCall('switch', 'send', socket)[Symbol.dispose]();
  const open = calls.openCall('switch', 'send', socket);
  const closed = calls.close();
  assert.equal(open.signal.reason, CLOSING);
  assert.equal(calls.size, 1);
  open[Symbol.dispose]();
  await closed;
  assert.throws(() => calls.openCall('switch', 'send', socket), { code: 'SHUTTING_DOWN' });
});
