import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSharedPark } from './shared-park.ts';

function slot() {
  const log: string[] = [];
  let parked = false;
  return {
    log,
    async park<T>(wait: () => Promise<T>): Promise<T> {
      assert.equal(parked, false, 'parked twice');
      parked = true;
      log.push('released');
      try {
        const value = await wait();
        log.push('taken');
        return value;
      } finally {
        parked = false;
      }
    },
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a run is parked only while all of its calls wait', async () => {
  const { log, park } = slot();
  const join = createSharedPark(park);
  const [a, b] = [join(), join()];
  const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  const one = a.park(() => first.promise);
  await turn();
  assert.deepEqual(log, [], 'the other call works');
  const two = b.park(() => second.promise);
  await turn();
  assert.deepEqual(log, ['released']);
  first.resolve('1');
  assert.equal(await one, '1');
  assert.deepEqual(log, ['released', 'taken']);
  a.leave();
  await turn();
  assert.deepEqual(log, ['released', 'taken', 'released'], 'the one that is left waits');
  second.resolve('2');
  assert.equal(await two, '2');
  assert.deepEqual(log, ['released', 'taken', 'released', 'taken']);
  b.leave();
  await turn();
  assert.equal(log.length, 4);
});

test('a wait that fails is reported to its call, and the others go on waiting', async () => {
  const { log, park } = slot();
  const join = createSharedPark(park);
  const [a, b] = [join(), join()];
  const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  const one = a.park(() => first.promise);
  const two = b.park(() => second.promise);
  await turn();
  first.reject(new Error('refused'));
  await assert.rejects(one, /refused/);
  a.leave();
  second.resolve('2');
  assert.equal(await two, '2');
  b.leave();
  assert.deepEqual(log.slice(0, 2), ['released', 'taken']);
});

test('a run that gets no slot again ends the calls with the reason', async () => {
  const reason = new Error('stopping');
  const join = createSharedPark(async (wait) => {
    await wait();
    throw reason;
  });
  const [a, b] = [join(), join()];
  const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  const one = a.park(() => first.promise);
  const two = b.park(() => second.promise);
  first.resolve('1');
  await assert.rejects(one, reason);
  a.leave();
  second.resolve('2');
  await assert.rejects(two, reason);
});
