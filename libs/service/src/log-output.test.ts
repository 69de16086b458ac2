import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';

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

test('lines are held up to 16 KiB', async () => {
  const lines = `for (let at = 0; at < 100; at += 1) log.info({ text: 'x'.repeat(1_000) }, 'line');`;
  const kept = (await run(`${lines} ${KILL}`).ended).length;
  assert.ok(kept >= 80 && kept < 100, `${kept} of 100 lines`);
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
