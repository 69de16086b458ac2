import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hasCode, recordingLog } from '@hermes-fleet/protocol/testing';
import { fixture, isRunning, longTimeout, now, openPool, untilGone } from '../testing/harness.ts';

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
