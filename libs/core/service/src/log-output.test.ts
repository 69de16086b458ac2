import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { promisify } from 'node:util';

const LOGGER = new URL('./logger.ts', import.meta.url).href;
const SHUTDOWN = new URL('./shutdown.ts', import.meta.url).href;

/** Runs a script that has `log`, the logger of its process. */
function run(script: string): { child: ChildProcess; output: () => string; ended: Promise<string[]> } {
  const source = `import { createLogger } from ${JSON.stringify(LOGGER)};
    import { onShutdown } from ${JSON.stringify(SHUTDOWN)};
    const log = createLogger({ name: 'neo', level: 'debug' });
    ${script}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
  });
  const ended = once(child, 'close').then(() =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line).msg),
  );
  return { child, output: () => text, ended };
}

/** Resolves when the process has written a text. */
async function written({ child, output }: ReturnType<typeof run>, text: string): Promise<void> {
  while (!output().includes(text)) {
    assert.ok(child.stdout);
    await once(child.stdout, 'data', { signal: AbortSignal.timeout(60_000) });
  }
}

const KILL = "process.kill(process.pid, 'SIGKILL');";

test('the first line after a pause is written at once, a further one is held', async () => {
  assert.deepEqual(await run(`log.info({}, 'first'); log.info({}, 'second'); ${KILL}`).ended, ['first']);
});

test('a warning or an error is written at once, behind the lines that were held', async () => {
  for (const level of ['warn', 'error', 'fatal']) {
    const lines = `for (const at of [1, 2, 3]) log.info({}, 'line ' + at);`;
    assert.deepEqual(
      await run(`${lines} log.${level}({}, 'broken'); log.info({}, 'lost'); ${KILL}`).ended,
      ['line 1', 'line 2', 'line 3', 'broken'],
      level,
    );
  }
});

test('a held line is written without a further one', async () => {
  const running = run(
    `log.info({}, 'first'); log.debug({}, 'held'); process.stdin; setInterval(() => {}, 1_000);`,
  );
  await written(running, 'held');
  running.child.kill('SIGKILL');
  assert.deepEqual(await running.ended, ['first', 'held']);
});

test('lines are held up to 4 KiB, also in UTF-8', async () => {
  for (const text of ["'x'.repeat(1_000)", "'\u00e9'.repeat(500)"]) {
    const lines = `for (const at of [1, 2, 3, 4, 5]) log.info({ text: ${text} }, 'line ' + at);`;
    // Line 1 opens the hold period; line 5 does not fit beside the three that are held.
    const kept = ['line 1', 'line 2', 'line 3', 'line 4'];
    assert.deepEqual(await run(`${lines} ${KILL}`).ended, kept, text);
  }
});

test('processes that share a pipe do not tear the lines of each other', async () => {
  const source = `import { createLogger } from ${JSON.stringify(LOGGER)};
    const log = createLogger({ name: process.argv[1] });
    for (let round = 0; round < 100; round += 1) {
      for (let at = 0; at < 50; at += 1) log.info({ text: log.bindings().name.repeat(50) }, 'line');
      await new Promise(setImmediate);
    }`;
  // `dd` reads little at a time, so the pipe is full, and a write that is longer than it takes whole can be torn.
  const script = '("$@" neo & "$@" trinity & wait) | dd ibs=16 obs=4096 status=none';
  const args = ['-c', script, 'sh', process.execPath, '--input-type=module', '-e', source];
  const { stdout } = await promisify(execFile)('sh', args, { maxBuffer: 64 << 20, timeout: 120_000 });
  const count = { neo: 0, trinity: 0 };
  for (const line of stdout.split('\n').slice(0, -1)) {
    const { name, text }: { name: keyof typeof count; text: string } = JSON.parse(line);
    assert.equal(text, name.repeat(50));
    count[name] += 1;
  }
  assert.deepEqual(count, { neo: 5_000, trinity: 5_000 });
});

test('every exit writes the held lines: its end, process.exit, an uncaught error, and a shutdown by SIGTERM', async () => {
  const two = "log.info({}, 'first'); log.info({}, 'last');";
  for (const exit of ['', 'process.exit(3);', "throw new Error('no');", "Promise.reject(new Error('no'));"])
    assert.deepEqual(await run(`${two} ${exit}`).ended, ['first', 'last'], exit);

  const stopped = run(`onShutdown({ log, graceMs: 60_000, steps: [] });
    setInterval(() => {}, 1_000);
    ${two}`);
  await written(stopped, 'first');
  stopped.child.kill('SIGTERM');
  assert.deepEqual(await stopped.ended, ['first', 'last', 'stopping', 'stopped']);
});

test('lines of a process under load are whole and in order', async () => {
  const lines = await run(`for (let at = 0; at < 5_000; at += 1) log.info({}, String(at));`).ended;
  assert.deepEqual(
    lines,
    Array.from({ length: 5_000 }, (_, at) => String(at)),
  );
});
