import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { Agent, type OutgoingHttpHeaders, request } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { until } from '../support/fleet.ts';
import { type LoneProfile, startProfile } from '../support/lone-profile.ts';
import { startTrader } from '../support/lone-trader.ts';
import { call, dispatch, message, post, resultOf, type Target } from '../support/rpc.ts';

/** As many connections as a listener may have, unless this machine allows fewer open files. */
const FLOOD = Math.min(
  4_096,
  Number(execFileSync('/bin/sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).replace('unlimited', '1e9')) -
    1_024,
);
/** Far more than a caller waits during a flood, and far less than a locked port needs to open again. */
const AT_MOST_MS = 3_000;

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly tookMs: number;
}

/** Sends a request over a new connection, or over the agent's. */
async function ask(
  url: string,
  o: { method?: string; headers?: OutgoingHttpHeaders; body?: string; agent?: Agent } = {},
): Promise<Answer> {
  const started = performance.now();
  const { method = 'POST', headers = {}, body, agent } = o;
  const asked = request(url, { method, headers, agent: agent ?? false, timeout: 60_000 });
  asked.end(body);
  const [reply] = await once(asked, 'response');
  let text = '';
  for await (const chunk of reply) text += chunk;
  return { status: reply.statusCode, body: text, tookMs: performance.now() - started };
}

const listTasks = ({ url, token }: Target, agent?: Agent): Promise<Answer> =>
  ask(`${url}/jsonrpc`, {
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: '{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}',
    ...(agent && { agent }),
  });

/** Opens connections that send nothing. Resolves when all were open, if only for a moment. */
async function flood(t: TestContext, { url }: Target): Promise<readonly Socket[]> {
  const { hostname, port } = new URL(url);
  const sockets: Socket[] = [];
  t.after(() => sockets.forEach((socket) => void socket.destroy()));
  while (sockets.length < FLOOD) {
    const batch = Array.from({ length: 128 }, () => connect(Number(port), hostname));
    sockets.push(...batch);
    await Promise.all(
      batch.map((socket) => {
        socket.on('error', () => undefined).resume();
        return Promise.race([once(socket, 'connect'), once(socket, 'close')]);
      }),
    );
  }
  return sockets;
}

/** Calls the service over new connections and a kept one until `over`; returns the longest waits. */
async function callDuring(t: TestContext, to: Target, over: () => boolean) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  await listTasks(to, agent);
  const longest = { newCaller: 0, keptConnection: 0, health: 0 };
  let rounds = 0;
  const ended = (async () => {
    while (!over() || rounds === 0) {
      const answers = {
        newCaller: await listTasks(to),
        keptConnection: await listTasks(to, agent),
        health: await ask(`${to.url}/health`, { method: 'GET' }),
      };
      for (const name of ['newCaller', 'keptConnection', 'health'] as const) {
        const { status, tookMs } = answers[name];
        assert.equal(status, 200, name);
        longest[name] = Math.max(longest[name], Math.round(tookMs));
      }
      rounds += 1;
    }
    t.diagnostic(`${rounds} rounds, longest waits in ms: ${JSON.stringify(longest)}`);
    for (const [name, ms] of Object.entries(longest)) assert.ok(ms < AT_MOST_MS, `${name}: ${ms} ms`);
  })();
  return { ended };
}

/** Calls the service until a flood of idle connections is over. */
async function callDuringFlood(t: TestContext, to: Target): Promise<void> {
  let over = false;
  const calls = await callDuring(t, to, () => over);
  const idle = await flood(t, to);
  await until(
    async () => idle.every(({ closed, destroyed }) => closed || destroyed),
    'all idle connections to be closed',
    10_000,
  );
  over = true;
  await calls.ended;
}

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
  const connections = `for j in $(seq 550); do exec {fd}<>/dev/tcp/127.0.0.1/${port}; done; sleep 4`;
  const attack = `bash -c 'for i in $(seq 8); do (${connections}) & done; wait; echo attacked'`;
  let over = false;
  const calls = await callDuring(t, trinity, () => over);
  const { body } = await call(neo, 'SendMessage', message(prose(attack)));
  over = true;
  await calls.ended;
  assert.match(JSON.stringify(body.result.task), /attacked/);
  assert.match(trinity.log(), /connections gave way/);
});

const FOREIGN: readonly OutgoingHttpHeaders[] = [
  { host: 'evil.example:9219' },
  { origin: 'http://evil.example:9219' },
  { host: 'evil.example:9219', origin: 'http://evil.example:9219' },
  { origin: 'null' },
];
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
  const send = (headers: OutgoingHttpHeaders, path = '/jsonrpc'): Promise<Answer> =>
    ask(`${neo.url}${path}`, {
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: message(prose('echo driven')),
      }),
    });
  for (const headers of FOREIGN) {
    for (const path of ['/jsonrpc', '/']) assert.equal((await send(headers, path)).status, 403);
    for (const path of ['/fleet/peers', '/ready', '/metrics', '/.well-known/agent-card.json'])
      assert.equal((await ask(`${neo.url}${path}`, { method: 'GET', headers })).status, 403, path);
    const health = await ask(`${neo.url}/health`, { method: 'GET', headers });
    assert.equal(health.status, 200);
  }
  const { body } = await post(
    { ...neo, token: undefined },
    '{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}',
  );
  assert.equal(body.result.totalSize, 0, 'a foreign page started a task');
  for (const headers of OWN) {
    const sent = await send(headers);
    assert.equal(sent.status, 200, JSON.stringify(headers));
    assert.match(sent.body, /TASK_STATE_COMPLETED/);
  }
});

test('a browser drives an open profile: /mcp of the trader refuses a foreign page that has a token', async (t) => {
  const trader = await startTrader(t);
  const list = (headers: OutgoingHttpHeaders): Promise<Answer> =>
    ask(`${trader.url}/mcp`, {
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    });
  const token = { authorization: `Bearer ${trader.token}` };
  for (const headers of FOREIGN) {
    const { status, body } = await list({ ...headers, ...token });
    assert.equal(status, 403);
    assert.equal(JSON.parse(body).error.data.reason, 'FORBIDDEN');
    assert.equal((await list(headers)).status, 403);
    assert.equal((await ask(`${trader.url}/health`, { method: 'GET', headers })).status, 200);
  }
  for (const headers of [{}, { host: 'localhost:1' }, { origin: 'http://localhost:6274' }])
    assert.equal((await list({ ...headers, ...token })).status, 200);
  assert.equal((await list({})).status, 401);
});
