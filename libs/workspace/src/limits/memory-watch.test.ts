import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { manualClock } from '@hermes-fleet/protocol/testing';
import { environmentOf } from '../process/proc.ts';
import { createMemoryWatch } from './memory-watch.ts';

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
  const watch = createMemoryWatch({ limitMb: MIB, clock });
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
  const watch = createMemoryWatch({ limitMb: 2 ** 40, clock, readEnvironment });
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
