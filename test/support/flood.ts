import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { Agent, type OutgoingHttpHeaders, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { until } from './fleet.ts';
import type { Target } from './rpc.ts';

const MAX_OPEN_FILES = Number(
  execFileSync('/bin/sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).replace('unlimited', '1e9'),
);
/** As many connections as a listener may have, unless this machine allows fewer open files. */
const FLOOD = Math.min(4_096, MAX_OPEN_FILES - 1_024);
/** The engine's proxy of a published port opens six files for each connection, and exits when it can open no more. */
export const PROXIED_FLOOD = Math.min(FLOOD, Math.floor(MAX_OPEN_FILES / 8));
/** Far more than a caller waits during a flood, and far less than a locked port needs to open again. */
const AT_MOST_MS = 3_000;

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly tookMs: number;
}

/** Sends a request over a new connection, or over the agent's. */
export async function ask(
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
async function flood(t: TestContext, { url }: Target, count: number): Promise<readonly Socket[]> {
  const { hostname, port } = new URL(url);
  const sockets: Socket[] = [];
  t.after(() => sockets.forEach((socket) => void socket.destroy()));
  while (sockets.length < count) {
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

/** Calls the service over new connections and a kept one until `over`, and fails when one of them waits for long. */
export async function callDuring(t: TestContext, to: Target, over: () => boolean) {
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

/** Calls the service until a flood of so many idle connections is over. */
export async function callDuringFlood(t: TestContext, to: Target, count = FLOOD): Promise<void> {
  let over = false;
  const calls = await callDuring(t, to, () => over);
  const idle = await flood(t, to, count);
  await until(
    async () => idle.every(({ closed, destroyed }) => closed || destroyed),
    'all idle connections to be closed',
    10_000,
  );
  over = true;
  await calls.ended;
}

/** A command that opens 4,400 connections to a listener and keeps them for 4 s, or until it is cut off. */
export function floodCommand(host: string, port: number | string): string {
  const connections = `for j in $(seq 550); do exec {fd}<>/dev/tcp/${host}/${port}; done; sleep 4`;
  return `bash -c 'for i in $(seq 8); do (${connections}) & done; wait; echo attacked'`;
}

/** What the browser of a visitor sends for a foreign page. */
export const FOREIGN: readonly OutgoingHttpHeaders[] = [
  { host: 'evil.example:9219' },
  { origin: 'http://evil.example:9219' },
  { host: 'evil.example:9219', origin: 'http://evil.example:9219' },
  { origin: 'null' },
];

/** Attacks an open profile as a foreign page: it runs nothing and reads nothing. `sent` is what SendMessage gets. */
export async function driveAsPage({ url }: Pick<Target, 'url'>, sent: object): Promise<void> {
  const rpc = (method: string, params: object, headers: OutgoingHttpHeaders, path = '/jsonrpc') =>
    ask(`${url}${path}`, {
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
  for (const headers of FOREIGN) {
    for (const path of ['/jsonrpc', '/'])
      assert.equal((await rpc('SendMessage', sent, headers, path)).status, 403);
    for (const path of ['/fleet/peers', '/ready', '/metrics', '/.well-known/agent-card.json'])
      assert.equal((await ask(`${url}${path}`, { method: 'GET', headers })).status, 403, path);
    const health = await ask(`${url}/health`, { method: 'GET', headers });
    assert.equal(health.status, 200);
  }
  const { body } = await rpc('ListTasks', {}, {});
  assert.equal(JSON.parse(body).result.totalSize, 0, 'a foreign page started a task');
}

/** Sends what a foreign page would to the trader's `/mcp`, with a valid token and without: it is refused. */
export async function driveTraderAsPage(trader: Target): Promise<void> {
  for (const headers of FOREIGN) {
    const { status, body } = await listTools(trader, headers);
    assert.equal(status, 403);
    assert.equal(JSON.parse(body).error.data.reason, 'FORBIDDEN');
    assert.equal((await listTools({ ...trader, token: undefined }, headers)).status, 403);
    assert.equal((await ask(`${trader.url}/health`, { method: 'GET', headers })).status, 200);
  }
}

/** Lists the tools of the trader's `/mcp`. */
export const listTools = ({ url, token }: Target, headers: OutgoingHttpHeaders = {}): Promise<Answer> =>
  ask(`${url}/mcp`, {
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  });
