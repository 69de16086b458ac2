import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadline, manualClock, recordingLog } from '@hermes-fleet/protocol/testing';
import { createRetryQueue } from './retry-queue.ts';

const open = () => {
  const clock = manualClock();
  const log = recordingLog();
  return { clock, log, duties: createRetryQueue({ clock, log }) };
};

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('failed work is retried every five seconds until it succeeds', deadline, async () => {
  const { clock, duties, log } = open();
  const tries: string[] = [];
  let isBroken = true;
  for (const key of ['a', 'b'])
    duties.enqueue(key, async () => {
      tries.push(key);
      if (isBroken) throw new Error('not yet');
    });
  await turn();
  assert.deepEqual([tries, duties.size, clock.timers], [['a', 'b'], 2, 1]);
  clock.advance(4999);
  assert.equal(tries.length, 2);
  isBroken = false;
  clock.advance(1);
  await turn();
  assert.deepEqual([tries.length, duties.size, clock.timers], [4, 0, 0]);
  assert.equal(log.messages.length, 2);
});

test('running a key joins its current attempt, or starts one between attempts', deadline, async () => {
  const { duties } = open();
  await duties.runNow('nothing');
  const { promise, reject } = Promise.withResolvers<void>();
  let tries = 0;
  duties.enqueue('a', () => {
    tries += 1;
    return tries === 1 ? promise : Promise.resolve();
  });
  const both = Promise.allSettled([duties.runNow('a'), duties.runNow('a')]);
  reject(new Error('broken'));
  assert.deepEqual(
    (await both).map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  assert.equal(tries, 1);
  await duties.runNow('a');
  assert.deepEqual([tries, duties.size], [2, 0]);
});

test('newer work replaces work with the same key', deadline, async () => {
  const { duties } = open();
  const old = Promise.withResolvers<void>();
  duties.enqueue('a', () => old.promise);
  duties.enqueue('a', () => Promise.reject(new Error('new')));
  old.resolve();
  await turn();
  assert.equal(duties.size, 1);
  await assert.rejects(duties.runNow('a'), { message: 'new' });
});

test('after close, queued work is not retried and new work runs once', deadline, async () => {
  const { clock, duties } = open();
  let tries = 0;
  const fails = async (): Promise<void> => {
    tries += 1;
    throw new Error('broken');
  };
  duties.enqueue('a', fails);
  await turn();
  duties.close();
  duties.enqueue('b', fails);
  await assert.rejects(duties.runNow('b'));
  clock.advance(60_000);
  assert.deepEqual([tries, clock.timers], [2, 0]);
});
