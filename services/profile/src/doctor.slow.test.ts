import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { tempDir } from '@hermes-fleet/protocol/testing';

const MAIN = join(import.meta.dirname, 'main.ts');

type Finding = Readonly<Record<'subject' | 'check' | 'state' | 'detail', string>>;

/** The port of a server that listens, or begins to, on loopback, until the test ends. */
async function portOf(t: TestContext, server: Server): Promise<number> {
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  const address = server.address();
  return typeof address === 'object' && address ? address.port : assert.fail('no port');
}

/** A port without a listener. */
async function freePort(t: TestContext): Promise<number> {
  const server = createServer();
  const port = await portOf(t, server);
  server.close();
  await once(server, 'close');
  return port;
}

/** Runs `--doctor` on a profile with these files and variables. */
async function doctor(
  t: TestContext,
  files: Record<string, JsonObject | string | undefined>,
  variables: Record<string, string> = {},
  options: readonly string[] = [],
) {
  const home = tempDir(t);
  const dir = join(home, 'profiles/neo');
  mkdirSync(dir, { recursive: true });
  for (const [name, content] of Object.entries(files))
    if (content !== undefined)
      writeFileSync(join(dir, name), typeof content === 'string' ? content : JSON.stringify(content));
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [MAIN, '--profile', 'neo', '--doctor', ...options], {
    env: { PATH, NODE_COMPILE_CACHE, HERMES_HOME: home, SHORT: 'short', ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const [code] = await once(child, 'close');
  assert.equal(stderr, '');
  const report: { profile: string; ok: boolean; findings: Finding[] } = JSON.parse(stdout);
  const said = report.findings.map(
    ({ subject, check, state, detail }) => `${state} ${subject} ${check}: ${detail}`,
  );
  return { code, report, said: said.join('\n'), wroteNothing: !existsSync(join(dir, 'state')) };
}

const server = { bind_port: 9_220, auth_required: false };
const CONFIG = { model: 'offline/runbook' };
const IDENTITY = '# neo\n\nA profile.\n';

test('a correct profile alone passes; nothing is written and no port is opened', async (t) => {
  // Its own port is taken: a process that tried to listen would fail.
  const taken = createServer();
  const port = await portOf(t, taken);
  const { code, report, said, wroteNothing } = await doctor(t, {
    'fleet.yaml': { fleet: { tier: 'haiku', server: { ...server, bind_port: port } } },
    'config.yaml': CONFIG,
    'IDENTITY.md': IDENTITY,
  });
  assert.equal(code, 0, said);
  assert.deepEqual([report.profile, report.ok, report.findings.length], ['neo', true, 2]);
  assert.match(said, /^ok configuration files: fleet\.yaml, config\.yaml and IDENTITY\.md/);
  assert.match(said, /^skipped commands confinement: not tried: the profile does not say at http:\/\/127/m);
  assert.ok(wroteNothing);
});

test('the running profile is asked how it confines commands, and which tools of MCP servers it leaves out', async (t) => {
  const note = 'shell commands run confined by uid with Landlock 7, as another user';
  let commands: object | undefined = { state: 'ok', detail: note };
  const mcp = {
    'mcp:docs': { state: 'ok', detail: 'tools left out: find: its schema fits no object' },
    'mcp:files': { state: 'ok' },
    'mcp:gone': { state: 'degraded', detail: 'error: process exited with code 5' },
  };
  const ready = createHttpServer((request, reply) => {
    const { url } = request;
    reply.writeHead(url === '/ready' ? 200 : 404).end(JSON.stringify({ dependencies: { commands, ...mcp } }));
  });
  const port = await portOf(t, ready);
  const examined = (agent: JsonObject = {}) =>
    doctor(t, {
      'fleet.yaml': {
        fleet: { tier: 'haiku', server: { ...server, bind_host: '127.0.0.1', bind_port: port } },
      },
      'config.yaml': { ...CONFIG, ...agent },
      'IDENTITY.md': IDENTITY,
    });
  assert.match((await examined()).said, new RegExp(`^ok commands confinement: ${note}$`, 'm'));
  commands = { state: 'degraded', detail: 'shell_exec is off' };
  const off = await examined();
  assert.equal(off.code, 0);
  assert.match(off.said, /^warning commands confinement: shell_exec is off$/m);
  const told = off.said.split('\n').filter((line) => line.includes('MCP server'));
  assert.deepEqual(told, ['warning MCP server docs tools: tools left out: find: its schema fits no object']);
  assert.doesNotMatch((await examined({ tools: { shell: { enabled: false } } })).said, /commands/);
  commands = undefined;
  assert.match((await examined()).said, /^skipped commands confinement/m);
});

test('what is left of the ceilings on spending is shown, also before the first start', async (t) => {
  const spending = {
    tokens_per_day: 900,
    tokens_per_task_tree: 300,
    callers: { peer: { tokens_per_day: 500 } },
  };
  const { code, said, wroteNothing } = await doctor(t, {
    'fleet.yaml': { fleet: { tier: 'haiku', server, spending } },
    'config.yaml': CONFIG,
    'IDENTITY.md': IDENTITY,
  });
  assert.equal(code, 0, said);
  assert.match(said, /^ok spending tokens_per_task_tree: 300 tokens for a task and all that it delegates$/m);
  const unused = String.raw`on \d{4}-\d\d-\d\d UTC \(0 spent, 0 reserved by unfinished tasks\)$`;
  assert.match(said, new RegExp(`^ok spending tokens_per_day: 900 of 900 tokens are left ${unused}`, 'm'));
  assert.match(
    said,
    new RegExp(`^ok spending callers.peer.tokens_per_day: 500 of 500 tokens are left ${unused}`, 'm'),
  );
  assert.ok(wroteNothing);
});

test('every problem is reported at once: in all files, in tokens, and in unreachable services', async (t) => {
  const away = await freePort(t);
  const { code, report, said } = await doctor(t, {
    'fleet.yaml': {
      fleet: {
        server: { bind_port: 9_220, token_env: 'NOT_SET' },
        agents: {
          switch: { url: `http://127.0.0.1:${away}`, token_env: 'SHORT' },
          trinity: { url: `http://localhost:${away}` },
        },
        nats: { servers: [`nats://127.0.0.1:${away}`] },
      },
    },
    'config.yaml': { ...CONFIG, modle: 'x' },
  });
  assert.equal(code, 1);
  assert.equal(report.ok, false);
  for (const says of [
    /^failed configuration .*config\.yaml.*modle/m,
    /^failed configuration IDENTITY\.md: cannot be read/m,
    /^failed configuration .*fleet\.yaml:\d+ fleet\.server\.token_env: NOT_SET is not set/m,
    /^failed configuration .*SHORT/m,
    /^failed switch reachable: nobody answers/m,
    /^failed nats stream: .*ECONNREFUSED/m,
  ])
    assert.match(said, says);
});

test('the model is checked: its provider answers, is away, or rejects the key', async (t) => {
  let status = 200;
  let body = {};
  const provider = createHttpServer((_, reply) => reply.writeHead(status).end(JSON.stringify(body)));
  const port = await portOf(t, provider);
  const examined = (at: number) =>
    doctor(t, {
      'fleet.yaml': { fleet: { tier: 'haiku', server } },
      'config.yaml': { model: 'openai-compatible/m', base_url: `http://127.0.0.1:${at}/v1` },
      'IDENTITY.md': IDENTITY,
    });
  const { code, said } = await examined(port);
  assert.equal(code, 0, said);
  assert.match(said, /^ok model reachable: openai-compatible\/m: answers$/m);
  assert.match(said, /^warning model context window: 32768 tokens: assumed: the provider states none$/m);
  body = { data: [{ id: 'm', max_model_len: 65_536 }] };
  const stated = await examined(port);
  assert.match(stated.said, /^ok model context window: 65536 tokens: the provider states max_model_len$/m);
  status = 401;
  const refused = await examined(port);
  assert.match(refused.said, /^failed model reachable: .* answered 401: check its key in config\.yaml$/m);
  const away = await examined(await freePort(t));
  assert.equal(away.code, 1);
  assert.match(away.said, /^failed model reachable: .* could not be reached \(ECONNREFUSED\)$/m);
});

test('the model is called on request only, and the finding has what the provider said', async (t) => {
  const calls: string[] = [];
  let status = 200;
  const usage = { prompt_tokens: 21, completion_tokens: 1 };
  const answer = { id: '1', choices: [{ index: 0, delta: { content: 'ok' }, finish_reason: 'stop' }], usage };
  const provider = createHttpServer((request, reply) => {
    if (request.url !== '/v1/chat/completions') return void reply.end('{}');
    calls.push(String(request.headers.authorization));
    if (status === 200)
      reply
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(`data: ${JSON.stringify(answer)}\n\n`);
    else reply.writeHead(status).end('{"error":{"message":"no credit for sk-of-a-test-0"}}');
  });
  const port = await portOf(t, provider);
  const examined = (options: readonly string[]) =>
    doctor(
      t,
      {
        'fleet.yaml': { fleet: { tier: 'haiku', server } },
        'config.yaml': {
          model: 'openai-compatible/m',
          base_url: `http://127.0.0.1:${port}/v1`,
          api_key_env: 'KEY',
        },
        'IDENTITY.md': IDENTITY,
      },
      { KEY: 'sk-of-a-test-0' },
      options,
    );
  assert.doesNotMatch((await examined([])).said, /model call/);
  assert.deepEqual(calls, []);
  const called = await examined(['--call']);
  const line = /^ok model call: openai-compatible\/m: answered in \d+ ms \(21 tokens in, 1 out\)$/m;
  assert.match(called.said, line);
  assert.deepEqual([called.code, calls], [0, ['Bearer sk-of-a-test-0']]);
  status = 402;
  const refused = await examined(['--call']);
  assert.equal(refused.code, 1);
  assert.match(refused.said, /^failed model call: .* answered 402: no credit for \[redacted\]$/m);
});

test('fallback models are examined too, and a window that nobody can be asked for', async (t) => {
  const provider = createHttpServer((request, reply) => {
    reply.writeHead(request.url?.startsWith('/bad') ? 401 : 200).end('{}');
  });
  const port = await portOf(t, provider);
  const url = `http://127.0.0.1:${port}`;
  const fallbacks: JsonObject[] = [
    { model: 'openai-compatible/b', base_url: `${url}/bad` },
    { model: 'other/c', provider: { package: '@scope/other' } },
  ];
  const { code, said } = await doctor(
    t,
    {
      'fleet.yaml': { fleet: { tier: 'haiku', server } },
      'config.yaml': { model: 'openai-compatible/a', base_url: `${url}/v1`, fallback_models: fallbacks },
      'IDENTITY.md': IDENTITY,
    },
    {},
    ['--call'],
  );
  assert.equal(code, 1);
  assert.match(said, /^ok model reachable: openai-compatible\/a: answers$/m);
  assert.match(said, /^failed fallback model reachable: openai-compatible\/b: its provider answered 401/m);
  assert.match(said, /^failed fallback model call: openai-compatible\/b: .* answered 401/m);
  assert.match(said, /^warning fallback model context window: 32768 tokens: assumed: .* cannot be asked$/m);
  assert.match(said, /^failed fallback model call: .*@scope\/other is not in .*: run fleet add/m);
});

test('a key of the model that cannot be read is reported with everything else', async (t) => {
  const { code, said } = await doctor(
    t,
    {
      'fleet.yaml': { fleet: { tier: 'haiku', server, agents: { switch: { url: 'http://127.0.0.1:9' } } } },
      'config.yaml': { model: 'anthropic/claude-haiku-4-5' },
      'IDENTITY.md': IDENTITY,
    },
    { ANTHROPIC_API_KEY_FILE: '/nonexistent/key' },
  );
  assert.equal(code, 1);
  assert.match(said, /^ok configuration files/m);
  assert.match(
    said,
    /^failed model key: ANTHROPIC_API_KEY_FILE: \/nonexistent\/key can't be read \(ENOENT\)/m,
  );
  assert.match(said, /^failed switch reachable: nobody answers/m);
});

test('the problems of an invalid fleet.yaml are reported, and that peers were not asked', async (t) => {
  const { code, said } = await doctor(t, {
    'fleet.yaml': {
      fleet: { server: { ...server, bind_port: 99_999 }, agents: { switch: { url: 'nowhere' } } },
    },
    'config.yaml': CONFIG,
    'IDENTITY.md': IDENTITY,
  });
  assert.equal(code, 1);
  assert.match(said, /^failed configuration .*bind_port/m);
  assert.match(said, /^failed configuration .*agents\.switch\.url/m);
  assert.match(said, /^skipped configuration live checks: not tried/m);
});
