import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Ledger } from '@hermes-fleet/ledger';
import { FleetError } from '@hermes-fleet/protocol';
import { deadline, manualClock } from '@hermes-fleet/protocol/testing';
import { restlessClock, startPushing } from '../../testing/pushing.ts';
import { startWebhook } from '../../testing/webhook.ts';

const WANTED = { version: '1.0', token: undefined, authentication: undefined } as const;

test('a start continues all configs, one in each turn of the event loop', deadline, async (t) => {
  const CONFIGS = 120;
  const hook = await startWebhook(t);
  let begun = 0;
  const metadata = (): undefined => {
    begun += 1;
  };
  const pushing = startPushing(t, { metadata });
  const { ledger } = pushing;
  for (let n = 0; n < CONFIGS; n += 1) {
    const taskId = await pushing.begin();
    const position = ledger.get(taskId)?.lastSeq ?? 0;
    const saved = await ledger.push.save({ ...WANTED, taskId, id: 'c', url: hook.url, position });
    await ledger.push.delivered(saved.n, position);
    await ledger.append(taskId, { type: 'done', data: {} }, { state: 'completed', result: {} });
  }
  pushing.push.start();
  let most = 0;
  for (let seen = 0; begun < CONFIGS; seen = begun) {
    await new Promise(setImmediate);
    most = Math.max(most, begun - seen);
  }
  assert.ok(most <= 2, `${most} in one turn`);
  while (ledger.push.active(0, 1).length > 0) await new Promise(setImmediate);
  assert.equal(hook.received.length, 3 * CONFIGS);
});

test('a config that is being created has its place, which it takes once', async (t) => {
  const hook = await startWebhook(t);
  const pushing = startPushing(t, { limits: { perTask: 10, perCaller: 2 } });
  const wanted = { ...WANTED, url: hook.url };
  const id = await pushing.begin();
  const plan = (config: string) => pushing.push.plan(wanted, 'switch', { id, config });
  const one = await plan('one');
  const given = await plan('two');
  await assert.rejects(plan('three'), { code: 'QUEUE_FULL' });
  given[Symbol.dispose]();
  given[Symbol.dispose]();
  const saved = await one.save(id, 'one');
  // One that is stored, and one that is known, leave room for the other.
  const known = await plan('one');
  const two = await plan('two');
  await assert.rejects(plan('three'), { code: 'QUEUE_FULL' });
  for (const planned of [one, known, two]) planned[Symbol.dispose]();
  assert.equal(saved.state, 'active');
});

test('an internal error gives the config up, visibly', deadline, async (t) => {
  const hook = await startWebhook(t);
  const clock = manualClock();
  const metadata = (): never => {
    throw new TypeError('a fault of this program');
  };
  const pushing = startPushing(t, { clock, metadata });
  const id = await pushing.begin();
  await pushing.create(id, hook.url);
  const line = await pushing.log.saw(/given up after an internal error/);
  assert.equal(line.level, 'error');
  const config = pushing.ledger.push.findConfig(id, 'c');
  assert.deepEqual([config?.state, config?.failures], ['given_up', 1]);
  assert.match(config?.detail ?? '', /this agent could not/);
  assert.deepEqual([pushing.results, hook.received.length], [['given_up'], 0]);
});

test('a ledger that cannot write for a while is asked again', deadline, async (t) => {
  const { clock } = restlessClock();
  const hook = await startWebhook(t);
  let refused = 0;
  const counting = (ledger: Ledger): Ledger => ({
    ...ledger,
    push: {
      ...ledger.push,
      async delivered(...args) {
        refused += 1;
        if (refused <= 2) throw new FleetError('STORE_UNAVAILABLE', 'the disk is full');
        return await ledger.push.delivered(...args);
      },
    },
  });
  const pushing = startPushing(t, { clock, counting });
  const id = await pushing.begin();
  await pushing.create(id, hook.url);
  await pushing.ledger.append(id, { type: 'done', data: {} }, { state: 'completed', result: {} });
  while (pushing.ledger.push.active(0, 1).length > 0) await new Promise(setImmediate);
  assert.equal(pushing.ledger.push.findConfig(id, 'c')?.state, 'finished');
  assert.ok(hook.received.length >= 6, `${hook.received.length} notifications`);
});
