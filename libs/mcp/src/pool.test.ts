import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FleetError } from '@hermes-fleet/protocol';
import { hasCode, recordingLog, tempDir } from '@hermes-fleet/protocol/testing';
import { fixture, isRunning, manualTimerClock, openPool, untilState } from './testing/harness.ts';

const RECHECK_MS = 15_000;
const now = { maxAgeMs: 0, timeoutMs: 20_000 };
const longTimeout = () => ({ signal: new AbortController().signal, timeoutMs: 20_000 });

const require = createRequire(import.meta.url);
function npmServer(name: string): string {
  return join(dirname(require.resolve(`@modelcontextprotocol/${name}/package.json`)), 'dist', 'index.js');
}

describe('servers from npm', { timeout: 120_000 }, () => {
  it('are healthy and their tools can be called', async (t) => {
    const dir = tempDir(t);
    await writeFile(join(dir, 'note.txt'), 'follow the white rabbit');
    const pool = openPool(t, {
      files: { command: process.execPath, args: [npmServer('server-filesystem'), dir] },
      memory: {
        command: process.execPath,
        args: [npmServer('server-memory')],
        env: { MEMORY_FILE_PATH: join(dir, 'memory.jsonl') },
      },
    });
    const [files, memory] = await Promise.all([pool.probe('files', now), pool.probe('memory', now)]);
    assert.equal(files.state, 'ok');
    assert.equal(memory.state, 'ok');
    assert.equal(pool.pids().length, 2);

    const tools = await pool.listTools('files');
    assert.ok(tools.some(({ name, inputSchema }) => name === 'read_text_file' && inputSchema.properties));
    const read = await pool.callTool(
      'files',
      'read_text_file',
      { path: join(dir, 'note.txt') },
      longTimeout(),
    );
    assert.deepEqual(read, { isError: false, content: 'follow the white rabbit' });
    const outside = await pool.callTool('files', 'read_text_file', { path: '/etc/hostname' }, longTimeout());
    assert.equal(outside.isError, true);

    const entities = [{ name: 'neo', entityType: 'profile', observations: ['is the one'] }];
    await pool.callTool('memory', 'create_entities', { entities }, longTimeout());
    const graph = await pool.callTool('memory', 'read_graph', {}, longTimeout());
    assert.match(graph.content, /is the one/);
  });
});

describe('the health of a server distinguishes', { timeout: 120_000, concurrency: 4 }, () => {
  for (const [mode, state, detail] of [
    ['answers', 'ok', /^answered in \d+ ms$/],
    ['chatty', 'ok', /^answered/],
    ['shouts', 'ok', /^answered/],
    ['hangs', 'timeout', /^timeout after 5000 ms$/],
    ['dies', 'error', /^process exited with code 7$/],
    ['refuses', 'error', /^answered with error -32603$/],
    ['exits', 'error', /^process exited with code 5$/],
    ['garbage', 'error', /^prints something that is not MCP on its stdout$/],
    ['flood', 'error', /^printed more than 10 MB without a line end$/],
  ] as const) {
    it(`${mode}: ${state}`, async (t) => {
      const pool = openPool(t, { it: fixture(mode) });
      const health = await pool.probe('it', now);
      assert.equal(health.state, state, health.detail);
      assert.match(health.detail, detail);
      assert.deepEqual(pool.health().it, health);
    });
  }

  for (const [name, config, detail] of [
    ['no such command', { command: '/opt/tools/no-such-server' }, /^command not found: no-such-server$/],
    ['no such cwd', { command: process.execPath, cwd: '/no/such' }, /^command not found: node \(or its cwd/],
    ['not executable', { command: import.meta.filename }, /^command is not executable: pool\.test\.ts$/],
    ['a command with a NUL', { command: 'a\0b' }, /^command .* could not be started/],
  ] as const) {
    it(`${name}: error`, async (t) => {
      const health = await openPool(t, { it: config }).probe('it', now);
      assert.equal(health.state, 'error');
      assert.match(health.detail, detail);
    });
  }

  it('a disabled server: disabled, and never started', async (t) => {
    const pool = openPool(t, { it: { ...fixture('answers'), disabled: true } });
    assert.equal((await pool.probe('it', now)).state, 'disabled');
    assert.deepEqual(pool.pids(), []);
    await assert.rejects(pool.listTools('it'), hasCode('PEER_UNREACHABLE'));
    const call = await pool.callTool('it', 'echo', {}, longTimeout());
    assert.deepEqual(call, {
      isError: true,
      content: 'MCP server "it" is not available (disabled in the configuration)',
    });
  });

  it('a server that floods requests and reads no answers: error', async (t) => {
    const pool = openPool(t, { it: fixture('asks') });
    const failed = Promise.withResolvers<string>();
    // It may answer the first ping before unread input has piled up.
    pool.onChange(() => {
      const { state, detail = '' } = pool.health().it ?? {};
      if (state === 'error') failed.resolve(detail);
    });
    await pool.probe('it', now);
    assert.equal(await failed.promise, 'does not read its input');
  });

  it('a server that prints garbage: error, even for a probe that times out before the connection is open', async (t) => {
    const log = recordingLog();
    const babble = Promise.withResolvers<void>();
    const debug = (fields: object, message: string): void => {
      if (message === 'MCP client reports') babble.resolve();
      log.debug(fields, message);
    };
    const pool = openPool(t, { it: fixture('garbage') }, { log: { ...log, debug } });
    await babble.promise;
    assert.equal((await pool.probe('it', { maxAgeMs: 0, timeoutMs: 10 })).state, 'error');
  });
});

describe('probing', { timeout: 120_000, concurrency: 4 }, () => {
  it('returns the last measurement until it is too old, then a new one', async (t) => {
    let pings = 0;
    const onOperation = (_: string, method: string): void => {
      if (method === 'ping') pings += 1;
    };
    const pool = openPool(t, { it: fixture('answers') }, { onOperation });
    const first = await pool.probe('it', now);
    assert.equal(await pool.probe('it', { maxAgeMs: 60_000, timeoutMs: 1000 }), first);
    assert.equal(pings, 1);
    await pool.probe('it', now);
    assert.equal(pings, 2);
  });

  it('shares one ping among concurrent probes', async (t) => {
    const operations: string[] = [];
    const onOperation = (server: string, method: string, outcome: string): void =>
      void operations.push(`${server} ${method} ${outcome}`);
    const pool = openPool(t, { it: fixture('answers') }, { onOperation });
    const found = await Promise.all(Array.from({ length: 50 }, () => pool.probe('it', now)));
    assert.ok(found.every(({ state }) => state === 'ok'));
    assert.deepEqual(operations, ['it connect ok', 'it ping ok']);
  });

  it('answers within its own timeout when another probe waits longer', async (t) => {
    const pool = openPool(t, { it: fixture('hangs') });
    const patient = pool.probe('it', now);
    const hasty = await pool.probe('it', { maxAgeMs: 0, timeoutMs: 100 });
    assert.equal(hasty.state, 'timeout');
    assert.equal(hasty.detail, 'timeout after 100 ms');
    assert.equal((await patient).detail, 'timeout after 5000 ms');
  });

  it('of one server never waits for another', async (t) => {
    const pool = openPool(t, { hung: fixture('hangs'), well: fixture('answers') });
    const slow = pool.probe('hung', now);
    assert.equal((await pool.probe('well', now)).state, 'ok');
    assert.equal(pool.health().hung?.checkedAt, 0);
    await slow;
  });

  it('reports that nothing was measured yet', async (t) => {
    const pool = openPool(t, { it: fixture('answers') });
    assert.deepEqual(pool.names(), ['it']);
    assert.deepEqual(pool.health(), { it: { state: 'error', detail: 'not connected yet', checkedAt: 0 } });
    await pool.probe('it', now);
  });

  it('refuses a name that is not configured', async (t) => {
    const pool = openPool(t, { it: fixture('answers') });
    for (const attempt of [
      pool.probe('nope', now),
      pool.listTools('nope'),
      pool.callTool('nope', 'echo', {}, longTimeout()),
    ]) {
      await assert.rejects(attempt, hasCode('NOT_FOUND'));
    }
  });
});

describe('over time', { timeout: 120_000 }, () => {
  it('reports a server that dies, restarts it, and reports its recovery', async (t) => {
    const pool = openPool(t, { it: fixture('answers') });
    const states: (string | undefined)[] = [];
    using _subscription = pool.onChange(() => states.push(pool.health().it?.state));
    await pool.probe('it', now);
    const [before] = pool.pids();
    assert.ok(before);
    process.kill(before, 'SIGKILL');
    await untilState(pool, 'it', 'error');
    assert.equal(pool.health().it?.detail, 'process was ended by SIGKILL');
    await untilState(pool, 'it', 'ok');
    assert.notDeepEqual(pool.pids(), [before]);
    assert.deepEqual(states, ['ok', 'error', 'ok']);
  });

  it('no longer calls a disposed listener', async (t) => {
    const pool = openPool(t, { it: fixture('answers') });
    let calls = 0;
    const subscription = pool.onChange(() => {
      calls += 1;
    });
    subscription[Symbol.dispose]();
    await pool.probe('it', now);
    assert.equal(calls, 0);
  });

  it('survives a listener that throws', async (t) => {
    const log = recordingLog();
    const pool = openPool(t, { it: fixture('answers') }, { log });
    using _subscription = pool.onChange(() => {
      throw new Error('a bug of the listener');
    });
    assert.equal((await pool.probe('it', now)).state, 'ok');
    assert.ok(log.entries.some(({ level, message }) => level === 'error' && message.includes('listener')));
  });

  it('measures every server every 15 s and replaces one that stays silent', async (t) => {
    const clock = manualTimerClock(RECHECK_MS);
    const pinged = [
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
    ];
    const onOperation = (_: string, method: string): void => {
      if (method === 'ping') pinged.shift()?.resolve();
    };
    const [first, second, third] = pinged.map(({ promise }) => promise);
    const pool = openPool(t, { it: fixture('hangs') }, { clock, onOperation });
    await first;
    const [pid] = pool.pids();
    assert.ok(pid);
    await nextTurn();
    clock.fire();
    await second;
    assert.ok(isRunning(pid));
    await nextTurn();
    clock.fire();
    await third;
    await untilGone(pid);
    assert.equal(pool.health().it?.state, 'timeout');
  });
});

describe('tools', { timeout: 120_000 }, () => {
  it('that would exhaust the memory are not listed', async (t) => {
    const pool = openPool(t, { it: fixture('hoards') });
    assert.equal((await pool.probe('it', now)).state, 'ok');
    await assert.rejects(pool.listTools('it'), /is not available \(lists more than 10 MB of tools\)/);
  });

  it('are listed once per session, and again when the server reports a change', async (t) => {
    let listings = 0;
    const onOperation = (_: string, method: string): void => {
      if (method === 'tools/list') listings += 1;
    };
    const pool = openPool(t, { it: fixture('answers') }, { onOperation });
    const [tools] = await Promise.all([pool.listTools('it'), pool.listTools('it')]);
    await pool.listTools('it');
    assert.equal(listings, 1);
    const described = { description: 'does echo', inputSchema: { type: 'object' } };
    assert.deepEqual(tools[0], { name: 'echo', ...described, readOnly: true });
    assert.equal(tools[1]?.readOnly, false);
    await pool.callTool('it', 'grow', {}, longTimeout());
    assert.ok((await pool.listTools('it')).some(({ name }) => name === 'grown'));
    assert.equal(listings, 2);
  });

  it('are listed again after the server was replaced', async (t) => {
    const pool = openPool(t, { it: fixture('answers') });
    await pool.callTool('it', 'grow', {}, longTimeout());
    await pool.callTool('it', 'die', {}, longTimeout());
    assert.ok((await pool.listTools('it')).every(({ name }) => name !== 'grown'));
  });

  it('of a server that is not available cannot be listed', async (t) => {
    const pool = openPool(t, { it: fixture('exits') });
    await assert.rejects(pool.listTools('it'), (error) => {
      assert.ok(hasCode('PEER_UNREACHABLE')(error));
      assert.match(String(error), /MCP server "it" is not available \(process exited with code 5\)/);
      return true;
    });
  });

  for (const [tool, expected] of [
    ['echo', { isError: false, content: '{"a":[1,{"b":"ü"}]}' }],
    ['fail', { isError: true, content: 'no such file' }],
    ['parts', { isError: false, content: 'see\n[image: image/png, 3 bytes]\ninside' }],
    [
      'unknown',
      {
        isError: true,
        content:
          'tool "unknown" of MCP server "it": answered with error MCP error -32602: Unknown tool: unknown',
      },
    ],
    ['die', { isError: true, content: 'MCP server "it" is not available (process exited with code 3)' }],
  ] as const) {
    it(`${tool} returns its result as text`, async (t) => {
      const pool = openPool(t, { it: fixture('answers') });
      assert.deepEqual(await pool.callTool('it', tool, { a: [1, { b: 'ü' }] }, longTimeout()), expected);
    });
  }

  it("receive the call's meta and nothing else", async (t) => {
    const pool = openPool(t, { it: fixture('answers') });
    const meta = { on_behalf_of: 'trinity' };
    assert.deepEqual(
      [
        JSON.parse((await pool.callTool('it', 'meta', {}, { ...longTimeout(), meta })).content),
        JSON.parse((await pool.callTool('it', 'meta', {}, longTimeout())).content),
      ],
      [meta, null],
    );
  });

  it('have their results cut at 64 kB with head and tail kept', async (t) => {
    const pool = openPool(t, { it: fixture('answers') });
    const { content } = await pool.callTool('it', 'big', {}, longTimeout());
    assert.ok(Buffer.byteLength(content) <= 64 * 1024);
    assert.match(content, /^first x+\n\[\d+ bytes left out\]\nx+ last$/);
  });

  it('end at their deadline with an error result', async (t) => {
    const pool = openPool(t, { it: fixture('answers') });
    await pool.probe('it', now);
    const call = await pool.callTool('it', 'silence', {}, { ...longTimeout(), timeoutMs: 50 });
    assert.deepEqual(call, {
      isError: true,
      content: 'tool "silence" of MCP server "it": timeout after 50 ms',
    });
    assert.equal((await pool.probe('it', now)).state, 'ok');
  });

  it("reject with their signal's reason", async (t) => {
    const pool = openPool(t, { it: fixture('answers') });
    await pool.probe('it', now);
    const canceled = new FleetError('CANCELED', 'canceled by the caller');
    const controller = new AbortController();
    const call = pool.callTool('it', 'silence', {}, { signal: controller.signal, timeoutMs: 20_000 });
    controller.abort(canceled);
    await assert.rejects(call, canceled);
    await assert.rejects(
      pool.callTool('it', 'echo', {}, { signal: controller.signal, timeoutMs: 1 }),
      canceled,
    );
  });
});

describe('processes', { timeout: 120_000 }, () => {
  it('see PATH, HOME, LANG and configured variables, and nothing else of the environment', async (t) => {
    const environment = {
      PATH: '/usr/bin:/bin',
      HOME: '/tmp',
      LANG: 'C.UTF-8',
      A2A_HERMES_TOKEN_NEO: 'secret',
      USER: 'neo',
    };
    const pool = openPool(
      t,
      { it: fixture('answers', { GREETING: 'hi', LANG: 'de_DE.UTF-8' }) },
      { environment },
    );
    const { content } = await pool.callTool('it', 'environment', {}, longTimeout());
    // Node adds this variable to its children when a test run measures coverage.
    const { NODE_V8_COVERAGE: _, ...seen } = JSON.parse(content);
    assert.deepEqual(seen, {
      PATH: '/usr/bin:/bin',
      HOME: '/tmp',
      LANG: 'de_DE.UTF-8',
      GREETING: 'hi',
    });
  });

  it("see nothing of this process's own environment", async (t) => {
    process.env.HERMES_TEST_SECRET = 'secret';
    t.after(() => {
      delete process.env.HERMES_TEST_SECRET;
    });
    const pool = openPool(t, { it: fixture('answers') });
    const { content } = await pool.callTool('it', 'environment', {}, longTimeout());
    const { NODE_V8_COVERAGE: _, ...seen } = JSON.parse(content);
    assert.deepEqual(
      Object.keys(seen).filter((name) => !['PATH', 'HOME', 'LANG'].includes(name)),
      [],
    );
  });

  it('are started through the launch wrapper', async (t) => {
    const launch = (command: string, args: string[]) => ({
      command: '/usr/bin/env',
      args: ['WRAPPED=yes', command, ...args],
    });
    const pool = openPool(t, { it: fixture('answers') }, { launch });
    assert.match((await pool.callTool('it', 'environment', {}, longTimeout())).content, /"WRAPPED":"yes"/);
  });

  it('write their stderr to the debug log, bounded in lines and length', async (t) => {
    const log = recordingLog();
    const pool = openPool(t, { it: fixture('shouts') }, { log });
    await pool.probe('it', now);
    await pool.close();
    const lines = log.entries.filter(({ message }) => message === 'MCP server wrote to stderr');
    assert.ok(lines.length > 0 && lines.length <= 60, `${lines.length} lines`);
    for (const { level, fields } of lines) {
      assert.equal(level, 'debug');
      assert.ok('server' in fields && fields.server === 'it');
      assert.ok('stderr' in fields && String(fields.stderr).length <= 2000);
    }
  });

  it('are gone after close together with their descendants, even when they ignore SIGTERM', async (t) => {
    const pool = openPool(t, { well: fixture('answers'), hung: fixture('hangs'), odd: fixture('garbage') });
    const { content } = await pool.callTool('well', 'child', {}, longTimeout());
    await pool.probe('hung', { maxAgeMs: 0, timeoutMs: 100 });
    const pids = [...pool.pids(), Number(content)];
    assert.equal(pids.length, 4);
    assert.ok(pids.every(isRunning));
    await pool.close();
    assert.deepEqual(pool.pids(), []);
    await Promise.all(pids.map(untilGone));
  });

  it('leave no descendants when they exit by themselves', async (t) => {
    const pool = openPool(t, { it: fixture('answers') });
    const child = Number((await pool.callTool('it', 'child', {}, longTimeout())).content);
    await pool.callTool('it', 'die', {}, longTimeout());
    await untilGone(child);
  });

  it('are not started after close', async (t) => {
    const pool = openPool(t, { it: fixture('answers') });
    await pool.close();
    await pool.close();
    const { content } = await pool.callTool('it', 'echo', {}, longTimeout());
    assert.equal(content, 'MCP server "it" is not available (the gateway is shutting down)');
    await assert.rejects(pool.listTools('it'), hasCode('PEER_UNREACHABLE'));
    assert.equal((await pool.probe('it', now)).detail, 'not connected yet');
    assert.deepEqual(pool.pids(), []);
  });
});

/** Waits for the effect of SIGKILL, bounded by the test's timeout. */
async function untilGone(pid: number): Promise<void> {
  while (isRunning(pid)) await new Promise((resolve) => setTimeout(resolve, 5));
}
