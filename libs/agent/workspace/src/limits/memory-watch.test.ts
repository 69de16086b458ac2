import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { manualClock, silentLog } from '@hermes-fleet/protocol/testing';
import { environmentOf } from '../process/proc.ts';
import type { MemoryRoom } from './memory-room.ts';
import { type Asked, createMemoryWatch } from './memory-watch.ts';

const MIB = 80;
/** Later than the next sample, however long this one took. */
const LATER_MS = 3_600_000;

/** Starts a process that uses more than `MIB` MiB of memory, and that has this entry in its environment. */
async function startUser(t: TestContext, name: string, value: string): Promise<ChildProcess> {
  const script = `globalThis.used = Buffer.alloc(${MIB * 1024 * 1024}, 1); process.stdout.write('x'); setInterval(() => {}, 1000)`;
  const child = spawn(process.execPath, ['-e', script], {
    env: { [name]: value },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  t.after(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  await once(child.stdout ?? assert.fail(), 'data');
  return child;
}

/** No process has it, so that only the marks tell whose a process is. */
const NO_PID = 2 ** 30;

test('a process that left its family counts for the command whose mark it carries, and for no other', async (t) => {
  await startUser(t, 'MEMORY_WATCH_TEST', 'one');
  const clock = manualClock();
  const watch = createMemoryWatch({ limitMb: MIB, clock, log: silentLog });
  const ended: string[] = [];
  using _one = watch({ pid: NO_PID, marks: { env: 'MEMORY_WATCH_TEST=one' }, end: () => ended.push('one') });
  using _two = watch({ pid: NO_PID, marks: { env: 'MEMORY_WATCH_TEST=two' }, end: () => ended.push('two') });
  using _none = watch({ pid: NO_PID, marks: {}, end: () => ended.push('none') });
  clock.advance(LATER_MS);
  assert.deepEqual(ended, ['one']);
});

test('a pass reads the environment of a process once for all commands, and not at all without their marks', (_t) => {
  const clock = manualClock();
  const read: number[] = [];
  const readEnvironment = (pid: number): string[] => {
    read.push(pid);
    return environmentOf(pid);
  };
  const watch = createMemoryWatch({ limitMb: 2 ** 40, clock, log: silentLog, readEnvironment });
  using _unmarked = watch({ pid: process.pid, marks: {}, end: assert.fail });
  clock.advance(LATER_MS);
  assert.equal(read.length, 0);
  using marked = new DisposableStack();
  for (const name of ['a', 'b', 'c'])
    marked.use(watch({ pid: NO_PID, marks: { env: `X=${name}` }, end: assert.fail }));
  clock.advance(LATER_MS);
  assert.ok(read.includes(process.pid));
  assert.equal(read.length, new Set(read).size);
});

const KIB = 1024;
/** Room of a control group with a reserve of 64 MiB. */
const room = (leftMib: number, sharedMib = 0): MemoryRoom => ({
  of: 'this control group',
  leftKib: leftMib * KIB,
  totalKib: 1024 * KIB,
  reserveKib: 64 * KIB,
  sharedKib: sharedMib * KIB,
});

/** Two commands, of which the first uses 80 MiB and the second next to nothing, watched without a limit. */
async function watchTwo(t: TestContext, options: Partial<Parameters<typeof createMemoryWatch>[0]>) {
  const [large, small] = [await startUser(t, 'X', 'y'), spawn('sleep', ['100'], { stdio: 'ignore' })];
  t.after(() => small.kill('SIGKILL'));
  const clock = manualClock();
  const watch = createMemoryWatch({ limitMb: 0, clock, log: silentLog, ...options });
  const ended: string[] = [];
  const start = (name: string, { pid = NO_PID }: ChildProcess): Disposable =>
    watch({ pid, marks: {}, end: (limit) => ended.push(`${name}: ${limit}`) });
  const watches = [start('large', large), start('small', small)];
  t.after(() => {
    for (const each of watches) each[Symbol.dispose]();
  });
  return { clock, ended, watches, pids: { large: large.pid, small: small.pid } };
}

test('in a shortage, the command that holds most is ended, and the next one once its memory can be free', async (t) => {
  let left = 65;
  const { clock, ended, watches } = await watchTwo(t, { readRoom: () => room(left) });
  clock.advance(LATER_MS);
  assert.deepEqual(ended, [], 'the reserve is left');
  left = 63;
  clock.advance(LATER_MS);
  assert.equal(ended.length, 1);
  assert.match(
    ended[0] ?? '',
    /^large: the memory of this control group is nearly used up \(63 MiB are left\), and of all commands this one held the most \(\d+ MiB\)$/,
  );
  clock.advance(400);
  assert.equal(ended.length, 1);
  watches[0]?.[Symbol.dispose]();
  clock.advance(LATER_MS);
  assert.equal(ended.length, 1, 'what holds less than the reserve is not ended: that would help nobody');
});

test('nobody is ended for memory that no command is seen to hold, and the log says so once', async (t) => {
  let left = 400;
  const warned: unknown[] = [];
  const log = { ...silentLog, warn: (...said: unknown[]) => warned.push(said[1]) };
  const { clock, ended } = await watchTwo(t, { log, readRoom: () => room(left) });
  left = 50;
  for (let times = 0; times < 3; times += 1) clock.advance(LATER_MS);
  assert.deepEqual(ended, [], 'of 350 MiB that are missing, it holds 80');
  assert.deepEqual(warned, ['memory is short, and no command of this profile is seen to hold it']);
});

test('room that is taken quickly counts as taken already', async (t) => {
  let left = 250;
  const { clock, ended } = await watchTwo(t, { readRoom: () => room(left) });
  left = 180;
  clock.advance(LATER_MS);
  assert.deepEqual(ended, [], 'it took an hour');
  left = 150;
  clock.advance(50);
  assert.equal(ended.length, 1, 'in 150 ms, 90 MiB more would be taken');
});

test('the less room is left, the sooner it is measured again', async (t) => {
  let left = 10_000;
  const { clock } = await watchTwo(t, { readRoom: () => room(left) });
  clock.advance(499);
  await clock.armed(500);
  for (const [mib, ms] of [
    [400, 100],
    [10, 20],
  ] as const) {
    left = mib;
    const armed = clock.armed(ms);
    clock.advance(LATER_MS);
    await armed;
  }
});

test('what a user said once ends no command that has freed it', async (t) => {
  let [left, shared] = [500, 300];
  let holder: 'large' | 'small' = 'small';
  const ask = async (): Promise<Asked> => {
    const kib = shared * KIB;
    const pid = pids[holder];
    return (of) => (of === pid ? kib : 0);
  };
  const { clock, ended, pids } = await watchTwo(t, { ask, readRoom: () => room(left, shared) });
  const next = async (): Promise<void> => {
    clock.advance(LATER_MS);
    await new Promise(setImmediate);
  };
  await next();
  [left, shared] = [500, 0];
  await next();
  holder = 'large';
  [left, shared] = [50, 300];
  await next();
  assert.match(ended.join(), /^large: /);
});

test('another room that is tighter is no memory that was taken', async (t) => {
  let now = room(400);
  const { clock, ended } = await watchTwo(t, { readRoom: () => now });
  clock.advance(LATER_MS);
  now = { ...room(150), totalKib: 4096 * KIB };
  clock.advance(100);
  assert.deepEqual(ended, []);
});

test('users are asked what they hold before a shortage, and where a command could exceed its limit', async (t) => {
  const questions: number[] = [];
  let answer: Asked = () => 0;
  let left = 300;
  let shared = 500;
  const ask = async (uid: number): Promise<Asked> => {
    questions.push(uid);
    return answer;
  };
  const { clock, ended, pids } = await watchTwo(t, {
    limitMb: 400,
    ask,
    readRoom: () => room(left, shared),
  });
  const next = async (ms = LATER_MS): Promise<void> => {
    clock.advance(ms);
    await new Promise(setImmediate);
  };
  await next();
  assert.equal(questions.length, 1, 'it might hold 500 MiB, and may 400');
  shared = 200;
  await next();
  assert.equal(questions.length, 1);
  left = 250;
  await next();
  assert.equal(questions.length, 2, 'the room is below four times the reserve');
  await next(100);
  assert.equal(questions.length, 2, 'not again at once');
  shared = 270;
  await next(100);
  assert.equal(questions.length, 3, 'unless shared memory grew by more than the reserve');
  answer = (pid) => (pid === pids.small ? 200 * KIB : 0);
  left = 50;
  await next();
  assert.match(ended.join(), /^small: .* held the most \(2\d\d MiB\)$/);
  ended.length = 0;
  answer = (pid) => (pid === pids.small ? Number.POSITIVE_INFINITY : 0);
  await next();
  assert.match(ended.join(), /^small: .* \(2\d\d MiB\)$/, 'all shared memory, when it cannot tell');
  ended.length = 0;
  left = 1000;
  shared = 500;
  answer = (pid) => (pid === pids.large ? 401 * KIB : 0);
  await next();
  assert.match(ended.join(), /^large: its processes used 4\d\d MiB of memory, and the limit is 400 /);
});
