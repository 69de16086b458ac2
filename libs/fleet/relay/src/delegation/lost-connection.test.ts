import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { it, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { FleetError } from '@hermes-fleet/protocol';
import { SAVED_DISPATCH as delegation, scriptedPeer } from '../../testing/scripted-peer.ts';
import { delegate } from './delegate.ts';

const task = {
  id: 'r-1',
  contextId: 'c',
  status: { state: 'TASK_STATE_COMPLETED', message: { parts: [{ text: 'It is done.' }] } },
};
const known = (method: string): object => ({ result: method === 'GetTask' ? task : { task } });

/** Serves these answers; one without an answer ends its connection. */
async function serve(t: TestContext, port: number, answerTo: (method: string, socket: Socket) => unknown) {
  const server = createServer(async (request, reply) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const answer = answerTo(JSON.parse(body).method, request.socket);
    if (answer === undefined) request.socket.destroy();
    else reply.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...answer }));
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return server;
}

/**
 * A peer that loses the connection, kept since a call before, over which it has just accepted a dispatch. Then `onLoss` is
 * called, and `copy` answers the next dispatch.
 */
async function losingPeer(t: TestContext, copy: object, onLoss: (server: Server) => void = () => undefined) {
  const received: string[] = [];
  const server = await serve(t, 0, (method) => {
    received.push(method);
    if (received.length !== 2) return method === 'SendMessage' ? copy : known(method);
    onLoss(server);
    return undefined;
  });
  const { port } = server.address() as AddressInfo;
  const { options } = await scriptedPeer(t, []);
  const endpoint = { name: 'helper', url: `http://127.0.0.1:${port}/` };
  await options.client.getTask(endpoint, 'r-1', { timeoutMs: 20_000 });
  // Then the connection is free.
  await turn();
  return { options: { ...options, endpoint }, received, port };
}

it('a task stays with a peer that died when it had accepted it, although the next copy finds no listener', async (t) => {
  const { options, received, port } = await losingPeer(t, {}, (server) => void server.close());
  let restarted: Promise<Server> | undefined;
  const onRetry = (): void => {
    restarted ??= serve(t, port, known);
  };
  const outcome = await delegate({ ...options, onRetry }, delegation);
  assert.ok(outcome.kind === 'result', `another peer would get it: ${JSON.stringify(outcome)}`);
  assert.equal(outcome.result.text, 'It is done.');
  assert.ok(restarted, 'the peer came back after a retry');
  assert.deepEqual(received, ['GetTask', 'SendMessage']);
});

it('a task stays with a peer that may have accepted it, although it refuses the next copy', async (t) => {
  const info = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'FORBIDDEN', metadata: {} };
  const refusal = { error: { code: -32600, message: 'no', data: [info] } };
  const { options, received } = await losingPeer(t, refusal);
  await assert.rejects(
    delegate(options, delegation),
    (error) => error instanceof FleetError && error.code === 'PEER_REFUSED',
  );
  assert.deepEqual(received, ['GetTask', 'SendMessage', 'SendMessage']);
});
