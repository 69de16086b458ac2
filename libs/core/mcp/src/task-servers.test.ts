import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { hasCode, recordingLog, tempDir } from '@hermes-fleet/protocol/testing';
import {
  fixture,
  isRunning,
  longTimeout,
  manualTimerClock,
  now,
  openPool,
  placeOf,
  untilGone,
} from '../testing/harness.ts';
import type { McpPool, McpPoolOptions, McpServerConfig } from './index.ts';

const IDLE_MS = 1_234_567;
const RECHECK_MS = 15_000;

/** A pool with the fixture server `it` of scope `task`, and calls of its tools by context. */
function openTasks(
  t: TestContext,
  { mode = 'answers', ...extra }: Partial<McpPoolOptions> & { readonly mode?: string } = {},
) {
  const root = tempDir(t);
  const probe = placeOf(root, 'probe');
  const it: McpServerConfig = {
    ...fixture(mode, { ROOT: `<\${WORKSPACE}>` }),
    scope: 'task',
  };
  const pool = openPool(t, { it }, { probePlaces: { it: probe }, taskServerIdleMs: IDLE_MS, ...extra });
  const call = (context: string, tool: string, limits: { timeoutMs?: number; signal?: AbortSignal } = {}) =>
    pool.callTool('it', tool, {}, { ...longTimeout(), ...limits, place: placeOf(root, context) });
  return { root, probe, pool, call };
}

const pidOf = async (call: ReturnType<typeof openTasks>['call'], context: string): Promise<number> =>
  Number((await call(context, 'pid')).content);

const probed = (pool: McpPool) => pool.probe('it', now);

describe('a server of scope task', { timeout: 120_000 }, () => {
  it('has an instance for each context, in its tree, and another one that is measured', async (t) => {
    const { root, probe, pool, call } = openTasks(t);
    assert.equal((await probed(pool)).state, 'ok');
    const [measured] = pool.pids();
    const pids = [];
    for (const context of ['a', 'b']) {
      const { ROOT, PLACE } = JSON.parse((await call(context, 'environment')).content);
      const dir = join(root, context);
      assert.deepEqual([ROOT, PLACE], [`<${dir}>`, dir]);
      assert.equal((await call(context, 'cwd')).content, dir);
      pids.push(await pidOf(call, context));
      assert.equal(await pidOf(call, context), pids.at(-1));
    }
    assert.deepEqual(pool.pids(), [measured, ...pids]);
    assert.equal(new Set(pool.pids()).size, 3);
    assert.match(readFileSync(`/proc/${measured}/environ`, 'utf8'), new RegExp(`ROOT=<${probe.dir}>`));
  });

  it('is started by the first call, and not by listing its tools', async (t) => {
    const { pool, call } = openTasks(t);
    assert.ok((await pool.listTools('it')).some(({ name }) => name === 'echo'));
    assert.equal(pool.pids().length, 1);
    await Promise.all([call('a', 'echo'), call('a', 'echo')]);
    assert.equal(pool.pids().length, 2);
  });

  it('cannot be called without a place', async (t) => {
    const { pool } = openTasks(t);
    await assert.rejects(pool.callTool('it', 'echo', {}, longTimeout()), hasCode('INTERNAL'));
    assert.throws(() => openPool(t, { it: { command: 'x' } }), hasCode('INTERNAL'));
  });

  it('lacks a tool that only the measured instance has: a clear error', async (t) => {
    const { call } = openTasks(t);
    const { isError, content } = await call('a', 'unknown');
    assert.ok(isError);
    assert.match(content, /tool "unknown" of MCP server "it": answered with error .*Unknown tool: unknown/);
  });

  it('has at most 8 instances: one that is idle gives way', async (t) => {
    const { pool, call } = openTasks(t);
    const names = Array.from({ length: 8 }, (_, index) => `c${index}`);
    const pids = await Promise.all(names.map((name) => pidOf(call, name)));
    await call('c0', 'echo');
    await probed(pool);
    const ninth = await pidOf(call, 'ninth');
    const gone = pids[1] ?? assert.fail();
    assert.ok(!isRunning(gone));
    assert.ok([ninth, ...pids].filter((pid) => pid !== gone).every(isRunning));
    assert.equal(pool.pids().length, 9);
    assert.notEqual(await pidOf(call, 'c1'), gone);
  });

  it('waits for a place while all are busy, within the deadline of the call', async (t) => {
    const { call, pool } = openTasks(t, { maxTaskServers: 2 });
    const busy = ['a', 'b'].map((context) => {
      const controller = new AbortController();
      return { controller, call: call(context, 'silence', { signal: controller.signal }) };
    });
    const late = await call('c', 'echo', { timeoutMs: 500 });
    assert.deepEqual(late, {
      isError: true,
      content:
        'MCP server "it" is not available (all 2 places for servers of scope task are in use; timeout after 500 ms)',
    });
    const canceled = new AbortController();
    const waiting = call('c', 'echo', { signal: canceled.signal });
    canceled.abort(new Error('canceled'));
    await assert.rejects(waiting, /canceled/);
    const served = call('d', 'echo');
    busy[0]?.controller.abort(new Error('enough'));
    await assert.rejects(busy[0]?.call ?? assert.fail(), /enough/);
    assert.equal((await served).isError, false);
    busy[1]?.controller.abort(new Error('enough'));
    await assert.rejects(busy[1]?.call ?? assert.fail(), /enough/);
    assert.ok(pool.pids().length <= 3);
  });

  it('is stopped when it is idle, and started anew', async (t) => {
    const clock = manualTimerClock(IDLE_MS);
    const { call } = openTasks(t, { clock });
    const pid = await pidOf(call, 'a');
    const slow = new AbortController();
    const inCall = call('b', 'silence', { signal: slow.signal });
    const busy = await pidOf(call, 'b');
    clock.fire();
    await untilGone(pid);
    assert.ok(isRunning(busy));
    assert.notEqual(await pidOf(call, 'a'), pid);
    slow.abort(new Error('enough'));
    await assert.rejects(inCall, /enough/);
  });

  it('is gone with all its processes when its context is released, and others stay', async (t) => {
    const { pool, call } = openTasks(t);
    const pid = await pidOf(call, 'a');
    const child = Number((await call('a', 'child')).content);
    const other = await pidOf(call, 'b');
    const pending = call('a', 'silence');
    await pool.release('a');
    assert.ok(!isRunning(pid));
    await untilGone(child);
    assert.equal((await pending).isError, true);
    assert.equal(await pidOf(call, 'b'), other);
    await pool.release('nobody');
    assert.notEqual(await pidOf(call, 'a'), pid);
  });

  it('is gone when the pool is closed', async (t) => {
    const { pool, call } = openTasks(t);
    const pid = await pidOf(call, 'a');
    await pool.close();
    assert.ok(!isRunning(pid));
    const { content } = await call('a', 'echo');
    assert.match(content, /the gateway is shutting down/);
  });

  it('that cannot start is an error of the call, is logged once, and does not change the health', async (t) => {
    const log = recordingLog();
    const { pool, root } = openTasks(t, { log });
    assert.equal((await probed(pool)).state, 'ok');
    const broken = (context: string) => {
      const place = { ...placeOf(root, context), wrap: () => ({ command: '/no/such', args: [] }) };
      return pool.callTool('it', 'echo', {}, { ...longTimeout(), place });
    };
    for (const context of ['a', 'a', 'b']) {
      const { isError, content } = await broken(context);
      assert.ok(isError);
      assert.match(content, /^MCP server "it" is not available \(command not found: such/);
    }
    const logged = log.entries.filter(({ message }) => /could not be started/.test(message));
    assert.deepEqual(
      logged.map(({ level, fields }) => [level, 'context' in fields && fields.context]),
      [['warn', 'a']],
    );
    assert.equal(pool.health().it?.state, 'ok');
    assert.equal(pool.pids().length, 1);
  });

  it('that dies is started anew by the next call', async (t) => {
    const { call, pool } = openTasks(t);
    const pid = await pidOf(call, 'a');
    assert.match((await call('a', 'die')).content, /process exited with code 3/);
    assert.notEqual(await pidOf(call, 'a'), pid);
    assert.equal((await probed(pool)).state, 'ok');
  });

  it('that does not answer three pings is killed and started anew', async (t) => {
    const clock = manualTimerClock(RECHECK_MS);
    const log = recordingLog();
    const ended = Promise.withResolvers<void>();
    const warn = (fields: object, message: string): void => {
      if (/no longer answers; ending/.test(message)) ended.resolve();
      log.warn(fields, message);
    };
    const { call } = openTasks(t, { clock, log: { ...log, warn } });
    const pid = await pidOf(call, 'a');
    process.kill(pid, 'SIGSTOP');
    const pinging = setInterval(() => clock.fire(), 100);
    t.after(() => clearInterval(pinging));
    await ended.promise;
    await untilGone(pid);
    assert.notEqual(await pidOf(call, 'a'), pid);
  });

  it('reports the duration of calls, and nothing else of its instances', async (t) => {
    const operations: string[] = [];
    const onOperation = (server: string, method: string, outcome: string): void =>
      void operations.push(`${server} ${method} ${outcome}`);
    const { pool, call } = openTasks(t, { onOperation });
    await probed(pool);
    await call('a', 'echo');
    assert.deepEqual(operations, ['it connect ok', 'it ping ok', 'it tools/call ok']);
  });
});
