import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newTask, openTestLedger } from '../testing/harness.ts';
import type { NewPushConfig } from './push-types.ts';

const config = (taskId: string, more: Partial<NewPushConfig> = {}): NewPushConfig => ({
  taskId,
  id: 'c1',
  version: '1.0',
  url: 'https://hooks.example.org/a',
  token: 'client-token',
  authentication: { scheme: 'Bearer', credentials: 'secret' },
  position: 1,
  ...more,
});
const LIMITS = { perTask: 2, perCaller: 3 };

describe('a push notification config', () => {
  it('keeps its progress after a restart, and ends where it was ended', async (t) => {
    const { ledger, reopen } = openTestLedger(t);
    const { id } = (await ledger.accept(newTask())).task;
    const { n } = await ledger.push.save(config(id));
    await ledger.push.failed(n, 100, 'answered with status 500');
    await ledger.push.failed(n, 200, 'answered with status 503');
    let again = await reopen();
    const failing = { failures: 2, failingSince: 100, detail: 'answered with status 503', hasBegun: false };
    const stored = { ...config(id), n, caller: 'switch', state: 'active' };
    assert.deepEqual(again.push.findConfig(id, 'c1'), { ...stored, ...failing });
    assert.equal(await again.push.delivered(n, 7), true);
    again = await reopen();
    const delivered = {
      failures: 0,
      failingSince: undefined,
      detail: undefined,
      hasBegun: true,
      position: 7,
    };
    assert.deepEqual(again.push.active(0, 10), [{ ...stored, ...delivered }]);
    assert.deepEqual(again.push.list(id), again.push.active(0, 10));
    await again.push.end(n, 'given_up');
    await again.push.end(n, 'finished');
    assert.deepEqual(again.push.active(0, 10), []);
    assert.equal(again.push.get(n)?.state, 'given_up');
  });

  it('is unknown for a task that does not exist', async (t) => {
    const { ledger } = openTestLedger(t);
    await assert.rejects(ledger.push.save(config('nobody')), { code: 'TASK_NOT_FOUND' });
  });

  it('keeps its progress when it is saved again, and begins anew when it has changed', async (t) => {
    const { ledger } = openTestLedger(t);
    const { id } = (await ledger.accept(newTask())).task;
    const { n } = await ledger.push.save(config(id));
    await ledger.push.delivered(n, 5);
    await ledger.push.end(n, 'given_up');
    const same = await ledger.push.save(config(id, { position: 9 }));
    assert.deepEqual([same.n, same.position, same.hasBegun, same.state], [n, 5, true, 'active']);
    assert.deepEqual(ledger.push.get(n), same);
    const changed = await ledger.push.save(config(id, { token: undefined, position: 9 }));
    assert.notEqual(changed.n, n);
    assert.deepEqual([changed.position, changed.hasBegun], [9, false]);
    assert.equal(await ledger.push.delivered(n, 10), false);
    assert.equal(ledger.push.get(changed.n)?.position, 9);
    assert.deepEqual(ledger.push.list(id), [changed]);
  });

  it('has a number that is used once', async (t) => {
    const { ledger } = openTestLedger(t);
    const { id } = (await ledger.accept(newTask())).task;
    const first = await ledger.push.save(config(id));
    assert.deepEqual(await ledger.push.remove(id, 'c1'), first);
    assert.equal(await ledger.push.remove(id, 'c1'), undefined);
    assert.notEqual((await ledger.push.save(config(id))).n, first.n);
  });

  it('goes with its task', async (t) => {
    const { ledger, clock } = openTestLedger(t);
    const { id } = (await ledger.accept(newTask())).task;
    const { n } = await ledger.push.save(config(id));
    await ledger.append(id, { type: 'done', data: {} }, { state: 'completed', result: {} });
    await ledger.outbox.advance(ledger.get(id)?.lastSeq ?? 0);
    clock.advance(1);
    assert.equal(await ledger.prune(clock.now(), 10), 1);
    assert.equal(ledger.push.get(n), undefined);
    assert.equal(await ledger.push.delivered(n, 3), false);
  });

  it('is refused above the limits of its task and of its caller', async (t) => {
    const { ledger } = openTestLedger(t);
    const { id } = (await ledger.accept(newTask())).task;
    const other = (await ledger.accept(newTask())).task.id;
    const foreign = (await ledger.accept(newTask({ caller: 'operator' }))).task.id;
    await ledger.push.save(config(id), LIMITS);
    const second = await ledger.push.save(config(id, { id: 'c2' }), LIMITS);
    const full = { code: 'QUEUE_FULL' };
    await assert.rejects(ledger.push.save(config(id, { id: 'c3' }), LIMITS), full);
    assert.throws(() => ledger.push.assertRoom('switch', id, LIMITS, 0), full);
    await ledger.push.save(config(id, { token: 'changed' }), LIMITS);
    await ledger.push.save(config(other), LIMITS);
    await assert.rejects(ledger.push.save(config(other, { id: 'c2' }), LIMITS), full);
    // A replacement takes no further place.
    await ledger.push.save(config(other, { token: 'changed' }), LIMITS);
    await ledger.push.save(config(foreign), LIMITS);
    await ledger.push.end(second.n, 'finished');
    assert.doesNotThrow(() => ledger.push.assertRoom('switch', undefined, LIMITS, 0));
    assert.throws(() => ledger.push.assertRoom('switch', undefined, LIMITS, 1), full);
    await ledger.push.save(config(other, { id: 'c2' }), LIMITS);
  });

  it('that was given up comes back only where its caller has room', async (t) => {
    const { ledger } = openTestLedger(t);
    const { id } = (await ledger.accept(newTask())).task;
    const other = (await ledger.accept(newTask())).task.id;
    const dead = await ledger.push.save(config(id), LIMITS);
    await ledger.push.end(dead.n, 'given_up');
    await ledger.push.save(config(id, { id: 'c2' }), LIMITS);
    await ledger.push.save(config(other), LIMITS);
    const last = await ledger.push.save(config(other, { id: 'c2' }), LIMITS);
    await assert.rejects(ledger.push.save(config(id), LIMITS), { code: 'QUEUE_FULL' });
    await ledger.push.remove(other, last.id);
    assert.equal((await ledger.push.save(config(id), LIMITS)).state, 'active');
  });
});
