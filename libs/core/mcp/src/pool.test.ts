import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { hasCode, recordingLog, tempDir } from '@hermes-fleet/protocol/testing';
import { fixture, longTimeout, now, openPool } from '../testing/harness.ts';

describe('shipped servers, by their names,', { timeout: 120_000 }, () => {
  it('are healthy and their tools can be called', async (t) => {
    const dir = tempDir(t);
    await writeFile(join(dir, 'note.txt'), 'follow the white rabbit');
    const pool = openPool(t, {
      files: { command: 'fleet-mcp-filesystem', args: [dir], scope: 'profile' },
      memory: {
        command: 'fleet-mcp-memory',
        env: { MEMORY_FILE_PATH: join(dir, 'memory.jsonl') },
        scope: 'profile',
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
      const health = await openPool(t, { it: { ...config, scope: 'profile' } }).probe('it', now);
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
