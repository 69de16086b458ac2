import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { OutgoingHttpHeaders } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { until } from '../support/fleet.ts';
import {
  ask,
  callDuring,
  callDuringFlood,
  driveAsPage,
  driveTraderAsPage,
  floodCommand,
  listTools,
} from '../support/flood.ts';
import { type LoneProfile, startProfile } from '../support/lone-profile.ts';
import { startTrader } from '../support/lone-trader.ts';
import { call, dispatch, message, resultOf, type Target } from '../support/rpc.ts';

/** A command that lasts until `release`. */
async function gate(t: TestContext) {
  const waiting = new Set<Socket>();
  const server = createServer((socket) => {
    waiting.add(socket);
    socket.on('error', () => undefined);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const release = (): void => waiting.forEach((socket) => void socket.end('go\n'));
  t.after(() => {
    release();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : assert.fail('no port');
  return { command: `bash -c 'exec 3<>/dev/tcp/127.0.0.1/${port}; read -r line <&3'`, waiting, release };
}

const prose = (command: string) =>
  dispatch({ brief: `\`\`\`sh\n${command}\n\`\`\``, task: { write: false, reply_schema: 'prose' } });

/** A stream of a task; resolves with all its events when it ends. */
async function streamOf({ url, token }: Target, sent: ReturnType<typeof prose>): Promise<string> {
  const reply = await fetch(`${url}/jsonrpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: message(sent) }),
  });
  assert.match(reply.headers.get('content-type') ?? '', /^text\/event-stream/);
  return await reply.text();
}

test('a port locked: a flood of connections without a token disturbs no caller of a profile', {
  timeout: 120_000,
}, async (t) => {
  const neo = await startProfile(t, { name: 'neo' });
  const held = await gate(t);
  const streamed = streamOf(neo, prose(held.command));
  const answered = call(neo, 'SendMessage', message(prose(held.command)));
  await until(async () => held.waiting.size === 2, 'both tasks to run');

  await callDuringFlood(t, neo);

  held.release();
  assert.match(await streamed, /TASK_STATE_COMPLETED/);
  assert.equal(resultOf((await answered).body.result.task)?.status, 'done');
  assert.match(neo.log(), /connections gave way/);
});

test('a port locked: a flood of connections without a token disturbs no caller of the trader', {
  timeout: 120_000,
}, async (t) => {
  const trader = await startTrader(t);
  await callDuringFlood(t, trader);
});

test("a port locked: a task's command cannot lock the port of a neighbour", {
  timeout: 120_000,
}, async (t) => {
  const neo = await startProfile(t, { name: 'neo' });
  const trinity = await startProfile(t, { name: 'trinity' });
  const { port } = new URL(trinity.url);
  let over = false;
  const calls = await callDuring(t, trinity, () => over);
  const { body } = await call(neo, 'SendMessage', message(prose(floodCommand('127.0.0.1', port))));
  over = true;
  await calls.ended;
  assert.match(JSON.stringify(body.result.task), /attacked/);
  assert.match(trinity.log(), /connections gave way/);
});

const OWN: readonly OutgoingHttpHeaders[] = [
  {},
  { host: 'localhost:1' },
  { host: '[::1]' },
  { origin: 'http://localhost:3000' },
  { host: 'agents.example.com', origin: 'https://agents.example.com' },
  { host: 'neo:9220' },
];

/** An open profile; its callers need no token. */
const openProfile = (t: TestContext): Promise<LoneProfile> =>
  startProfile(t, {
    name: 'neo',
    server: {
      auth_required: false,
      public_url: 'https://agents.example.com',
      allowed_hosts: ['neo'],
    },
  });

test('a browser drives an open profile: a foreign page runs nothing and reads nothing', async (t) => {
  const neo = await openProfile(t);
  await driveAsPage(neo, message(prose('echo driven')));
  for (const headers of OWN) {
    const sent = await ask(`${neo.url}/jsonrpc`, {
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: message(prose('echo driven')),
      }),
    });
    assert.equal(sent.status, 200, JSON.stringify(headers));
    assert.match(sent.body, /TASK_STATE_COMPLETED/);
  }
});

test('a browser drives an open profile: /mcp of the trader refuses a foreign page that has a token', async (t) => {
  const trader = await startTrader(t);
  await driveTraderAsPage(trader);
  for (const headers of [{}, { host: 'localhost:1' }, { origin: 'http://localhost:6274' }])
    assert.equal((await listTools(trader, headers)).status, 200);
  assert.equal((await listTools({ ...trader, token: undefined })).status, 401);
});
