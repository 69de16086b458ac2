import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, systemClock } from '@hermes-fleet/protocol/ports';
import { recordingLog } from '@hermes-fleet/protocol/testing';
import {
  fixture,
  isRunning,
  longTimeout,
  manualTimerClock,
  now,
  openPool,
  untilGone,
  untilState,
} from '../testing/harness.ts';

const RECHECK_MS = 15_000;
const PING_MS = 5_000;

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

  it('replaces one that is stopped in a call after ten silent pings', async (t) => {
    const lengths = new Map([
      [RECHECK_MS, 10],
      [PING_MS, 50],
    ]);
    let isStopped = false;
    const started = manualTimerClock(RECHECK_MS);
    const clock: Clock = {
      ...systemClock,
      timer: (fn, ms) => (isStopped ? systemClock.timer(fn, lengths.get(ms) ?? ms) : started.timer(fn, ms)),
    };
    let pings = 0;
    const onOperation = (_: string, method: string, outcome: string): void => {
      if (method === 'ping' && outcome === 'timeout') pings += 1;
    };
    const pool = openPool(t, { it: fixture('answers') }, { clock, onOperation });
    assert.equal((await pool.probe('it', now)).state, 'ok');
    const [pid] = pool.pids();
    assert.ok(pid);
    const call = pool.callTool('it', 'silence', {}, longTimeout());
    await pool.callTool('it', 'echo', {}, longTimeout());
    process.kill(pid, 'SIGSTOP');
    isStopped = true;
    started.fire();
    assert.equal((await call).isError, true);
    await untilGone(pid);
    assert.equal(pings, 10);
  });
});
