import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { manualClock, tempDir } from '@hermes-fleet/protocol/testing';
import { lockFolder } from '../local/folder-lock.ts';
import { recordProcess } from '../local/pid-file.ts';
import { readRestarts } from './restarts.ts';
import { supervise } from './supervise.ts';

/** A supervisor of `neo`, whose process dies at each start unless `lives`. */
function supervised(t: TestContext, { lives = false } = {}) {
  const dir = tempDir(t);
  const runDir = join(dir, 'run');
  mkdirSync(runDir);
  const pidFile = join(runDir, 'neo.json');
  const die = (): void => writeFileSync(pidFile, '{"name":"neo","pid":1,"identity":"another boot:1"}');
  const clock = manualClock();
  const stop = new AbortController();
  const [starts, said]: [number[], string[]] = [[], []];
  const command = { file: 'neo', args: [], env: {}, cwd: dir };
  let isInCharge = true;
  let isCurrent = true;
  const ended = supervise({
    dir,
    runDir,
    processes: [{ name: 'neo', logFile: 'neo.log', command }],
    clock,
    signal: stop.signal,
    isInCharge: () => isInCharge,
    isCurrent: () => isCurrent,
    start: () => {
      starts.push(clock.monotonic());
      if (lives) recordProcess(runDir, 'neo', process.pid);
      else die();
      return { pid: 1, ended: stop.signal, release: () => undefined };
    },
    say: (line) => said.push(line),
  });
  t.after(async () => {
    stop.abort();
    await ended;
  });
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      await clock.asleep(1);
      clock.advance(1_000);
    }
    await clock.asleep(1);
  };
  const resign = async (): Promise<void> => {
    isInCharge = false;
    clock.advance(1_000);
    await ended;
  };
  const change = (): void => {
    isCurrent = false;
  };
  const restarts = () => readRestarts(runDir)?.neo;
  return { dir, runDir, pidFile, die, clock, starts, said, pass, resign, change, restarts };
}

test('a process that keeps dying starts again 5 times in 10 minutes, ever later, then stays down and is recorded', async (t) => {
  const { die, starts, said, pass, restarts } = supervised(t);
  await pass(3);
  die();
  await pass(700);
  const between = starts.map((at, index) => at - (starts[index - 1] ?? at));
  assert.deepEqual(between, [0, 3_000, 5_000, 9_000, 17_000]);
  assert.equal(restarts()?.count, 5);
  assert.ok(restarts()?.failedAt);
  assert.match(said.at(-1) ?? '', /neo has died again, and stays down: neo.log says why/);
});

test('a process that died long ago has all its restarts again', async (t) => {
  const { die, starts, pass, restarts } = supervised(t, { lives: true });
  for (let death = 0; death < 7; death += 1) {
    die();
    await pass(200);
  }
  assert.equal(starts.length, 7);
  assert.deepEqual([restarts()?.count, restarts()?.failedAt], [7, undefined]);
});

test('a process that lives, or that a command has stopped, is not started', async (t) => {
  const { runDir, die, pidFile, starts, pass } = supervised(t);
  recordProcess(runDir, 'neo', process.pid);
  await pass(5);
  rmSync(pidFile);
  await pass(5);
  // It dies, and a command stops it before it would start again.
  die();
  await pass(1);
  rmSync(pidFile);
  await pass(5);
  assert.deepEqual(starts, []);
});

test('a process whose program has changed since up is left down, and the record says why', async (t) => {
  const { die, starts, pass, change, restarts } = supervised(t, { lives: true });
  die();
  await pass(10);
  change();
  die();
  await pass(10);
  assert.deepEqual([starts.length, restarts()?.count, restarts()?.reason], [1, 1, 'program']);
});

test('a look that fails is said once, and the next one that can does its work', async (t) => {
  const { runDir, die, said, starts, pass, restarts } = supervised(t, { lives: true });
  // Like a full disk: the record cannot be written.
  mkdirSync(join(runDir, 'restarts.tmp'));
  die();
  await pass(10);
  assert.deepEqual([starts.length, restarts()], [1, undefined]);
  assert.equal(said.filter((line) => /tries again what has failed: EISDIR/.test(line)).length, 1);
  rmSync(join(runDir, 'restarts.tmp'), { recursive: true });
  await pass(2);
  assert.equal(restarts()?.count, 1);
});

test('nothing starts while a command holds the lock of the folder', async (t) => {
  const { dir, die, starts, pass } = supervised(t);
  {
    using _lock = lockFolder(dir, 'fleet backup');
    die();
    await pass(10);
    assert.deepEqual(starts, []);
  }
  await pass(1);
  assert.equal(starts.length, 1);
});

test('a supervisor that another one has replaced ends without a start', async (t) => {
  const { die, starts, pass, resign } = supervised(t);
  await pass(1);
  die();
  await resign();
  assert.deepEqual(starts, []);
});
