import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { describe, it } from 'node:test';
import { FleetError } from '../src/errors.ts';
import { fleetErrorOf, hasCode, manualClock, recordingLog, START, tempDir } from './index.ts';

describe('manualClock', () => {
  it('fires what is due in the order of its time, and never what was disposed', async () => {
    const clock = manualClock();
    const fired: string[] = [];
    clock.timer(() => fired.push('late'), 20);
    clock.timer(() => fired.push('early'), 10);
    const last = clock.timer(() => assert.fail('was disposed'), 30);
    clock.timer(() => last[Symbol.dispose](), 25);
    const asleep = clock.sleep(15);
    clock.advance(9);
    assert.deepEqual([fired, clock.now(), clock.timers], [[], START + 9, 4]);
    clock.advance(30);
    await asleep;
    assert.deepEqual([fired, clock.timers], [['early', 'late'], 0]);
  });

  it('tells when a timer is armed and when somebody sleeps', async () => {
    const clock = manualClock(0);
    const [armed, asleep] = [clock.armed(50), clock.asleep(2)];
    clock.timer(() => {}, 50);
    await armed;
    const sleeps = [clock.sleep(1), clock.sleep(2)];
    await asleep;
    clock.advance(2);
    await Promise.all(sleeps);
  });

  it('ends a sleep with the reason of its signal', async () => {
    const clock = manualClock();
    const controller = new AbortController();
    const asleep = clock.sleep(10, controller.signal);
    controller.abort(new Error('canceled'));
    await assert.rejects(asleep, /canceled/);
    await assert.rejects(clock.sleep(10, controller.signal), /canceled/);
  });
});

it('recordingLog keeps its entries and waits for future ones', async () => {
  const log = recordingLog();
  const future = log.saw(/second/);
  log.info({ n: 1 }, 'first');
  log.warn({}, 'the second');
  assert.equal((await log.saw(/first/)).level, 'info');
  assert.deepEqual(await future, { level: 'warn', message: 'the second', fields: {} });
  assert.deepEqual(log.messages, ['info: first', 'warn: the second']);
  assert.equal(log.entries.length, 2);
});

it('tempDir removes the directory after closeFirst is done', async (t) => {
  let dir = '';
  let isThereWhenClosed = false;
  const closeFirst = async (): Promise<void> => {
    await Promise.resolve();
    isThereWhenClosed = existsSync(dir);
  };
  await t.test('a test with a directory', (inner) => {
    dir = tempDir(inner, { prefix: 'kit-', closeFirst });
    assert.match(dir, /kit-/);
  });
  assert.deepEqual([isThereWhenClosed, existsSync(dir)], [true, false]);
});

it('hasCode and fleetErrorOf recognize a FleetError', async () => {
  const failed = Promise.reject(new FleetError('INVALID_PARAMS', 'no brief'));
  const error = await fleetErrorOf(failed);
  assert.ok(hasCode('INVALID_PARAMS')(error) && hasCode('INVALID_PARAMS', /brief/)(error));
  assert.ok(!hasCode('INTERNAL')(error) && !hasCode('INVALID_PARAMS', /budget/)(error));
  assert.ok(!hasCode('INVALID_PARAMS')(new Error('no brief')));
  await assert.rejects(fleetErrorOf(Promise.resolve()), /resolved/);
  await assert.rejects(fleetErrorOf(Promise.reject(new Error('else'))), /else/);
});
