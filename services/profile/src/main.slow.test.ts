import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { openLedger } from '@hermes-fleet/ledger';
import type { JsonObject } from '@hermes-fleet/protocol';
import { systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { silentLog, tempDir } from '@hermes-fleet/protocol/testing';

const MAIN = join(import.meta.dirname, 'main.ts');

/** A profile with one MCP server that never answers and ends only when killed. */
function profileHome(t: TestContext, port: number) {
  const home = tempDir(t);
  const dir = join(home, 'profiles/neo');
  mkdirSync(dir, { recursive: true });
  const server = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); // ${home}`;
  const files = {
    'fleet.yaml': { fleet: { tier: 'haiku', server: { bind_port: port, auth_required: false } } },
    'config.yaml': {
      model: 'offline/runbook',
      mcp: { servers: { mute: { command: process.execPath, args: ['-e', server] } } },
      tools: { shell: { confine: 'unconfined' } },
    },
    'IDENTITY.md': undefined,
  };
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(dir, name), content ? JSON.stringify(content) : '# neo\n\nA profile.\n');
  return { home, dir };
}

function start(t: TestContext, home: string) {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [MAIN, '--profile', 'neo'], {
    env: { PATH, NODE_COMPILE_CACHE, HERMES_HOME: home },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => void child.kill('SIGKILL'));
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const ended = once(child, 'close').then(([code]) => ({ code, errors }));
  return { child, ended, lines: createInterface({ input: child.stdout }) };
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  const port = typeof address === 'object' && address ? address.port : assert.fail('no port');
  probe.close();
  await once(probe, 'close');
  return port;
}

/** Processes whose command line contains this text. */
function processesNaming(text: string): number[] {
  const commandLine = (pid: string): string => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    } catch {
      return '';
    }
  };
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && commandLine(name).includes(text))
    .map(Number);
}

async function takenPort(t: TestContext): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const address = server.address();
  return typeof address === 'object' && address ? address.port : assert.fail('no port');
}

test('a start that fails exits with code 1 and the reason, and its MCP servers end with it', async (t) => {
  const port = await takenPort(t);
  const { home } = profileHome(t, port);
  const { code, errors } = await start(t, home).ended;
  const left = processesNaming(home);
  for (const pid of left) process.kill(pid, 'SIGKILL');
  assert.equal(code, 1);
  assert.match(errors, new RegExp(`neo cannot listen on 127\\.0\\.0\\.1:${port}: another process`));
  assert.deepEqual(left, []);
});

test('a model without a tier is reported together with every other problem', async (t) => {
  const { home, dir } = profileHome(t, 1);
  const fleet = { server: { bind_port: 1, token_env: 'NOT_SET' } };
  writeFileSync(join(dir, 'fleet.yaml'), JSON.stringify({ fleet }));
  const { code, errors } = await start(t, home).ended;
  assert.equal(code, 1);
  assert.match(errors, /model offline\/runbook is in no tier/);
  assert.match(errors, /NOT_SET is not set/);
});

test('after SIGTERM while it resumes tasks, it stops in order and never listens', async (t) => {
  const { home, dir } = profileHome(t, await takenPort(t));
  const state = join(dir, 'state');
  mkdirSync(state);
  const open = () =>
    openLedger({
      file: join(state, 'ledger.db'),
      profile: 'neo',
      clock: systemClock,
      ids: systemIds,
      log: silentLog,
    });
  const ledger = open();
  const accept = (key: string, requirements: JsonObject) =>
    ledger.accept({
      id: systemIds.uuid(),
      contextId: key,
      caller: 'peer',
      key,
      fingerprint: key,
      message: {},
      dispatch: {
        type: 'TASK_DISPATCH',
        protocol_version: '2.0',
        task: { task_id: key },
        brief: 'hi',
        requirements,
      },
    });
  const { task } = await accept('first', {});
  await ledger.append(task.id, { type: 'queued', data: {} }, { state: 'queued' });
  // Its admission probes the silent server, which takes until the probe's deadline.
  const { task: second } = await accept('second', { required_mcp: ['mute'] });
  await ledger.close();

  const { child, ended, lines } = start(t, home);
  for await (const line of lines) if (line.includes('task resumed')) break;
  child.kill('SIGTERM');
  const { code, errors } = await ended;
  assert.deepEqual([code, errors], [0, '']);
  assert.deepEqual(processesNaming(home), []);
  const after = open();
  t.after(() => after.close());
  assert.equal(after.get(second.id)?.state, 'rejected', 'what was being admitted is decided');
});

test('the streams that a caller may have open are those of the configuration', async (t) => {
  const port = await freePort();
  const { home, dir } = profileHome(t, port);
  const server = { bind_port: port, auth_required: false };
  const limits = { max_streams_per_caller: 1 };
  const fleet = { tier: 'haiku', server, limits, shutdown: { grace_s: 1 } };
  writeFileSync(join(dir, 'fleet.yaml'), JSON.stringify({ fleet }));
  const { child, ended, lines } = start(t, home);
  for await (const line of lines) if (line.includes('listening')) break;
  const stream = (messageId: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}/jsonrpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'SendStreamingMessage',
        params: { message: { messageId, role: 'ROLE_USER', parts: [{ text: '```sh\nsleep 20\n```' }] } },
      }),
    });
  const first = await stream('a');
  assert.equal(first.status, 200);
  const second = await stream('b');
  assert.equal(second.status, 429);
  assert.match(await second.text(), /has 1 open streams, the most allowed/);
  child.kill('SIGTERM');
  await first.text().catch(() => undefined);
  assert.equal((await ended).code, 0);
});

test('without tokens, the metrics of spending name the shared caller and its ceiling', async (t) => {
  const port = await freePort();
  const { home, dir } = profileHome(t, port);
  const server = { bind_port: port, auth_required: false };
  const spending = { callers: { peer: { tokens_per_day: 1_500 } } };
  writeFileSync(
    join(dir, 'fleet.yaml'),
    JSON.stringify({ fleet: { tier: 'haiku', server, spending, shutdown: { grace_s: 1 } } }),
  );
  const { child, ended, lines } = start(t, home);
  for await (const line of lines) if (line.includes('listening')) break;
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  assert.match(metrics, /^fleet_spending_ceiling_tokens\{scope="caller",caller="peer"\} 1500$/m);
  assert.match(metrics, /^fleet_tokens_spent_total\{[^}]*caller="peer"[^}]*\} 0$/m);
  child.kill('SIGTERM');
  assert.equal((await ended).code, 0);
});
