import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from './clock.ts';

const MAX_TIMEOUT_MS = 2 ** 31 - 1;

describe('systemClock', () => {
  it('tells the time', () => {
    const before = Date.now();
    const now = systemClock.now();
    assert.ok(now >= before && now <= Date.now());
  });

  it('fires a timer once, unless it is disposed first', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const calls: string[] = [];
    systemClock.timer(() => calls.push('kept'), 10);
    systemClock.timer(() => calls.push('disposed'), 10)[Symbol.dispose]();
    t.mock.timers.tick(9);
    assert.deepEqual(calls, []);
    t.mock.timers.tick(100);
    assert.deepEqual(calls, ['kept']);
  });

  it('supports delays above the maximum of setTimeout', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let calls = 0;
    systemClock.timer(() => {
      calls += 1;
    }, MAX_TIMEOUT_MS + 1000);
    const disposed = systemClock.timer(() => assert.fail('was disposed'), MAX_TIMEOUT_MS + 1000);
    t.mock.timers.tick(MAX_TIMEOUT_MS);
    assert.equal(calls, 0);
    disposed[Symbol.dispose]();
    t.mock.timers.tick(999);
    assert.equal(calls, 0);
    t.mock.timers.tick(1);
    assert.equal(calls, 1);
  });

  it('sleeps, and rejects with the reason of its signal', async () => {
    await systemClock.sleep(1);
    const reason = new Error('canceled');
    const controller = new AbortController();
    const asleep = systemClock.sleep(60_000, controller.signal);
    controller.abort(reason);
    await assert.rejects(asleep, reason);
    await assert.rejects(systemClock.sleep(60_000, controller.signal), reason);
    await systemClock.sleep(1, new AbortController().signal);
  });
});
