import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createA2AClient } from '@hermes-fleet/a2a';
import { createClient } from '@hermes-fleet/net';
import { createAuthority, type TestCertificate } from '@hermes-fleet/net/testing';
import { HANDSHAKE_EXTENSION, type JsonObject } from '@hermes-fleet/protocol';
import { silentLog, systemClock } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { ROOT, until } from '../support/fleet.ts';
import { startProfile } from '../support/lone-profile.ts';
import { freeOffset } from '../support/ports.ts';

interface ProxyOptions {
  readonly certificate: TestCertificate;
  readonly port: number;
  /** `host:port` of the profile. */
  readonly upstream: string;
  readonly dir: string;
}

const exampleOf = (name: string): string => readFileSync(join(ROOT, 'deploy/proxy', name), 'utf8');

/** Each change of an example must find its text. */
const changed = (text: string, changes: readonly (readonly [string, string])[]): string =>
  changes.reduce((before, [from, to]) => {
    assert.ok(before.includes(from), `the example has no "${from}"`);
    return before.replaceAll(from, to);
  }, text);

/** The examples as they are shipped, with other names, ports and files; by the program's name. */
const PROXIES = {
  nginx: ({ certificate, port, upstream, dir }: ProxyOptions): string[] => {
    const site = changed(exampleOf('nginx.conf'), [
      ['127.0.0.1:9219', upstream],
      ['listen 443 ssl', `listen 127.0.0.1:${port} ssl`],
      ['server_name switch.example', 'server_name localhost'],
      ['/etc/fleet/tls/switch.pem', certificate.certFile],
      ['/etc/fleet/tls/switch.key', certificate.keyFile],
    ]);
    mkdirSync(join(dir, 'temp'));
    const temps = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${join(dir, 'temp', name)};`,
    );
    const http = ['access_log off;', ...temps, site].join('\n');
    const file = join(dir, 'nginx.conf');
    const top = ['daemon off;', `pid ${join(dir, 'nginx.pid')};`, 'error_log stderr;', 'events {}'];
    writeFileSync(file, `${top.join('\n')}\nhttp {\n${http}\n}\n`);
    return ['-p', dir, '-c', file];
  },
  caddy: ({ certificate, port, upstream, dir }: ProxyOptions): string[] => {
    const site = changed(exampleOf('Caddyfile'), [
      [
        '{$FLEET_SITE:switch.example} {',
        `https://localhost:${port} {\n\ttls ${certificate.certFile} ${certificate.keyFile}`,
      ],
      ['{$FLEET_UPSTREAM:127.0.0.1:9219}', upstream],
    ]);
    const file = join(dir, 'Caddyfile');
    writeFileSync(file, `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${site}`);
    return ['run', '--config', file, '--adapter', 'caddyfile'];
  },
};

const isInstalled = (program: string): boolean => spawnSync(program, ['-v']).error === undefined;

async function startProxy(t: TestContext, program: keyof typeof PROXIES, options: Omit<ProxyOptions, 'dir'>) {
  const dir = tempDir(t, { closeFirst: () => end() });
  const env = { ...process.env, HOME: dir, XDG_CONFIG_HOME: dir, XDG_DATA_HOME: dir };
  const child = spawn(program, PROXIES[program]({ ...options, dir }), {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (log += chunk));
  async function end(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await gone;
  }
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`${program} ended:\n${log}`);
    return new Promise<boolean>((resolve) => {
      const socket = connect(options.port, '127.0.0.1', () => resolve(true));
      socket.once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
  }, `${program} to listen`);
}

for (const program of ['nginx', 'caddy'] as const)
  test(`a streamed task comes event by event through ${program}, as the example configures it`, {
    timeout: 120_000,
    skip: isInstalled(program) ? false : `${program} is not installed`,
  }, async (t) => {
    const authority = createAuthority(t);
    const certificate = authority.issue('switch');
    const port = 9219 + (await freeOffset());
    const origin = `https://localhost:${port}`;
    const profile = await startProfile(t, { server: { public_url: origin } });
    await startProxy(t, program, { certificate, port, upstream: new URL(profile.url).host });

    const tls = { current: () => ({ ca: authority.ca }) };
    const log = silentLog;
    const client = createA2AClient({ clock: systemClock, log, extensions: [HANDSHAKE_EXTENSION], tls });
    const found = await client.discover(origin, { timeoutMs: 20_000 });
    assert.equal(found.url, `${origin}/jsonrpc`, 'the agent card has the public address');

    const data: JsonObject = {
      type: 'TASK_DISPATCH',
      protocol_version: '2.0',
      task: { task_id: 'through-the-proxy', reply_schema: 'structured' },
      brief: 'Do this:\n```sh\nsleep 2\n```\n```hello.txt\nhello\n```\n',
    };
    const endpoint = { name: 'switch', url: found.url, token: profile.token };
    const options = { signal: AbortSignal.timeout(60_000), idleTimeoutMs: 40_000 };
    const message = { messageId: 'm', data, blocking: false };
    const states: string[] = [];
    let firstAt = 0;
    for await (const reply of client.stream(endpoint, message, options)) {
      firstAt ||= performance.now();
      if (reply.kind === 'task') states.push(reply.task.state);
    }
    const spreadMs = performance.now() - firstAt;
    assert.equal(states.at(-1), 'completed');
    assert.ok(states.length > 2, states.join());
    assert.ok(spreadMs > 1_000, `the events came within ${spreadMs} ms, so they were held back`);

    const send = createClient('configured', { tls, redirects: 'returned' });
    const headers = { authorization: `Bearer ${profile.token}`, 'content-type': 'application/json' };
    const post = (path: string, body: string) =>
      send(`${origin}${path}`, { method: 'POST', headers, body, signal: AbortSignal.timeout(20_000) });
    const large = await post('/jsonrpc', JSON.stringify({ padding: 'x'.repeat(3 * 1024 * 1024) }));
    assert.equal(large.status, 413);
    assert.match(
      await large.text(),
      /the body is larger than 1048576 bytes/,
      "the profile's own limit counts",
    );
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
    const mcp = await send(`${origin}/mcp`, {
      method: 'POST',
      headers: { ...headers, accept: 'application/json, text/event-stream' },
      body: JSON.stringify(call),
      signal: AbortSignal.timeout(20_000),
    });
    assert.notEqual(mcp.status, 403, 'the public host is an own host');
    assert.match(await mcp.text(), /jsonrpc/);
  });
