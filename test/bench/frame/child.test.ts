import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { startChild } from './child.ts';

const RUNS_UNTIL_KILLED = [
  process.execPath,
  '-e',
  'process.on("SIGTERM", () => {}); setTimeout(() => { console.error("not killed"); process.exit() }, 20_000); console.log("runs")',
];

test('a program that is not installed is an end with its name and what to do', async () => {
  await using child = startChild({ command: ['no-such-program'], stdio: 'ignore', hint: 'install it' });
  assert.equal(await child.ended, 'no-such-program is not installed: install it');
  assert.equal(child.end(), 'no-such-program is not installed: install it');
});

test('disposing of a program ends it and waits for its end', async () => {
  const child = startChild({
    command: [process.execPath, '-e', 'setInterval(() => {}, 1e6)'],
    stdio: 'ignore',
  });
  assert.equal(child.end(), undefined);
  await child[Symbol.asyncDispose]();
  assert.equal(child.end(), `${process.execPath} ended with SIGTERM`);
});

test('a program ends with the process that started it, also if it ignores SIGTERM', {
  timeout: 60_000,
}, async () => {
  const module = JSON.stringify(join(import.meta.dirname, 'child.ts'));
  const script = `
    const { startChild } = await import(${module});
    const child = startChild({ command: ${JSON.stringify(RUNS_UNTIL_KILLED)}, stdio: ['ignore', 'pipe', 2] });
    child.process.stdout.once('data', () => process.exit(3));`;
  // The grandchild holds the standard error of its parent open while it runs.
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [[code], output] = await Promise.all([once(parent, 'exit'), text(parent.stderr)]);
  assert.deepEqual([code, output], [3, '']);
});
