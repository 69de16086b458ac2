import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Clock, systemClock, type ToolResult } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { anchoredFiles } from '@hermes-fleet/workspace';
import { processesWith } from '../../../testing/conformance.ts';
import { makeToolContext } from '../../../testing/harness.ts';
import { createBackground } from './background.ts';

const deadline = { timeout: 180_000 };

/** The tools in a folder of their own, for one context, unconfined. */
function toolsIn(t: TestContext, clock: Clock = systemClock) {
  const dir = tempDir(t);
  const mark = `mark-${process.pid}-${dir}`;
  const background = createBackground({ profile: 'neo', shell: '/bin/sh', env: {}, clock });
  const [start, output, stop] = background.tools;
  assert.ok(start && output && stop);
  const files = anchoredFiles(dir, false);
  const context = (key: string) => makeToolContext({ dir, files, key });
  const { contextId } = context('0').task;
  const release = () => background.release(contextId);
  t.after(release);
  return {
    dir,
    mark,
    release,
    start: (command: string, key = '0') => start.run({ command: `: ${mark}; ${command}` }, context(key)),
    look: () => output.run({ id: 'p0', wait_s: 60 }, context('1')),
    stop: () => stop.run({ id: 'p0' }, context('2')),
  };
}

const told = ({ output }: ToolResult): string => JSON.stringify(output);

test('starts at the same time keep the limit of four', deadline, async (t) => {
  const { start } = toolsIn(t);
  const keys = Array.from({ length: 9 }, (_, at) => String(at));
  const results = await Promise.all(keys.map((key) => start('exec sleep 100000', key)));
  assert.equal(results.filter(({ ok }) => ok).length, 4, results.map(told).join());
});

test('a process that is being started when its task ends is ended too', deadline, async (t) => {
  const { start, release, mark } = toolsIn(t);
  const starting = start(`exec sh -c 'sleep 100000; :' ${mark}`);
  await release();
  assert.deepEqual(processesWith(mark), []);
  assert.match(told(await starting), /"state":"ended"/);
});

test('a process that prints without end is killed, and the result says so', deadline, async (t) => {
  const { start, look, mark } = toolsIn(t);
  let last = await start(`exec yes ${mark}`);
  while (last.ok && told(last).includes('"state":"running"')) last = await look();
  assert.match(
    told(last),
    /"state":"ended","exited_with":null,"killed":"it printed more than 67108864 bytes"/,
  );
  assert.deepEqual(processesWith(mark), []);
});

test('a character whose bytes come apart is shown whole', deadline, async (t) => {
  const { dir, start, look } = toolsIn(t);
  assert.equal(spawnSync('mkfifo', [join(dir, 'go')]).status, 0);
  const parts = [await start("printf 'gr\\303'; read -r line < go; printf '\\274n\\n'; exec sleep 100000")];
  const shown = (): string =>
    parts.map(({ output }) => (output as { readonly output: string }).output).join('');
  while (shown() === '') parts.push(await look());
  assert.equal(shown(), 'gr');
  await writeFile(join(dir, 'go'), 'go\n');
  while (!shown().endsWith('\n')) parts.push(await look());
  assert.equal(shown(), 'grün\n');
});

test('what is incomplete when a process ends is shown', deadline, async (t) => {
  const { start, look } = toolsIn(t);
  let last = await start("printf 'a\\303'; exit 4");
  const first = last;
  while (told(last).includes('"state":"running"')) last = await look();
  assert.match(told(first) + told(last), /a[^\uFFFD]*\uFFFD/);
});

test('a stop waits for a limited time', deadline, async (t) => {
  // The wait is over at once: no process can be gone by then.
  const timer: Clock['timer'] = (done, ms) => {
    if (ms !== 10_000) return systemClock.timer(done, ms);
    done();
    return { [Symbol.dispose]() {} };
  };
  const { start, stop, look } = toolsIn(t, { ...systemClock, timer });
  await start('exec sleep 100000');
  assert.match(told(await stop()), /killed, and is not gone after 10 s; look later with shell_output/);
  let last = await look();
  while (told(last).includes('"state":"running"')) last = await look();
  assert.match(told(last), /"state":"ended"/);
});
