import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { test } from 'node:test';
import { recordingLog } from '@hermes-fleet/protocol/testing';
import { onShutdown, type ShutdownStep } from './shutdown.ts';

function setUp(steps: readonly ShutdownStep[], graceMs = 30_000) {
  const log = recordingLog();
  const signals = new EventEmitter();
  const exits: number[] = [];
  const exited = Promise.withResolvers<number>();
  const exit = (code: number): void => {
    exits.push(code);
    exited.resolve(code);
  };
  const handle = onShutdown({ log, graceMs, steps, exit, signals });
  const lines = (): { level: string; message: string; fields: Record<string, unknown> }[] =>
    log.entries.map(({ level, message, fields }) => ({ level, message, fields: { ...fields } }));
  return { lines, signals, exits, exited: exited.promise, handle };
}

test('the first signal runs the steps in order, logs each, and exits 0', async () => {
  for (const signal of ['SIGTERM', 'SIGINT']) {
    const order: string[] = [];
    const step = (name: string): ShutdownStep => ({
      name,
      run: async (abort) => {
        order.push(`${name} starts`);
        await new Promise(setImmediate);
        order.push(`${name} ends`);
        assert.equal(abort.aborted, false);
      },
    });
    const { signals, exited, lines, exits } = setUp([step('drain'), step('close')]);
    signals.emit(signal);
    assert.equal(await exited, 0);
    assert.deepEqual(order, ['drain starts', 'drain ends', 'close starts', 'close ends']);
    assert.deepEqual(
      lines().map(({ level, message, fields }) => [
        level,
        message,
        fields.step ?? fields.signal ?? fields.exit_code,
      ]),
      [
        ['info', 'stopping', signal],
        ['info', 'shutdown step done', 'drain'],
        ['info', 'shutdown step done', 'close'],
        ['info', 'stopped', 0],
      ],
    );
    assert.deepEqual(exits, [0]);
  }
});

test('the next step runs after a failed one, and the exit code is 1', async () => {
  const ran: string[] = [];
  const { signals, exited, lines } = setUp([
    { name: 'rejects', run: () => Promise.reject(new Error('no')) },
    {
      name: 'throws',
      run: () => {
        throw new Error('at once');
      },
    },
    { name: 'works', run: async () => void ran.push('works') },
  ]);
  signals.emit('SIGTERM');
  assert.equal(await exited, 1);
  assert.deepEqual(ran, ['works']);
  const failed = lines().filter(({ level }) => level === 'error');
  assert.deepEqual(
    failed.map(({ message, fields }) => [message, fields.step, String(fields.err)]),
    [
      ['shutdown step failed', 'rejects', 'Error: no'],
      ['shutdown step failed', 'throws', 'Error: at once'],
    ],
  );
});

test('the end of the grace period aborts the running step, skips the rest and exits 1', async () => {
  const aborted = Promise.withResolvers<unknown>();
  const { signals, exited, lines } = setUp(
    [
      {
        name: 'hangs',
        run: (signal) =>
          new Promise(() =>
            signal.addEventListener('abort', () => aborted.resolve(signal.reason), { once: true }),
          ),
      },
      { name: 'never', run: () => assert.fail('this step is skipped') },
    ],
    20,
  );
  signals.emit('SIGTERM');
  assert.equal(await exited, 1);
  assert.equal(String(await aborted.promise), 'Error: shutdown took longer than 20 ms');
  const { message, fields } = lines().at(-1) ?? assert.fail('the timeout is logged');
  assert.equal(message, 'shutdown ran out of time');
  assert.deepEqual([fields.step, fields.skipped, fields.grace_ms], ['hangs', ['never'], 20]);
});

test('a second signal of either kind exits with 130 at once', async () => {
  const { signals, exited, exits } = setUp([{ name: 'hangs', run: () => new Promise(() => {}) }], 50);
  signals.emit('SIGTERM');
  signals.emit('SIGINT');
  assert.deepEqual(exits, [130]);
  assert.equal(await exited, 130);
});

test('after dispose no signal is handled', () => {
  const { signals, handle, exits } = setUp([]);
  handle[Symbol.dispose]();
  assert.deepEqual(signals.eventNames(), []);
  assert.deepEqual(exits, []);
});

const child = (grace: number, run: string): string => `
  import { onShutdown } from ${JSON.stringify(new URL('./shutdown.ts', import.meta.url).href)};
  import { createLogger } from ${JSON.stringify(new URL('./logger.ts', import.meta.url).href)};
  const alive = setInterval(() => {}, 1000);
  onShutdown({ log: createLogger({ name: 'child' }), graceMs: ${grace}, steps: [{ name: 'work', run: async () => { ${run} } }] });
  console.log('started');`;

for (const { name, grace, run, sent, code } of [
  { name: 'stops cleanly', grace: 30_000, run: 'clearInterval(alive);', sent: ['SIGTERM'], code: 0 },
  { name: 'runs out of time', grace: 50, run: 'await new Promise(() => {});', sent: ['SIGINT'], code: 1 },
  {
    name: 'is interrupted twice',
    grace: 30_000,
    run: 'await new Promise(() => {});',
    sent: ['SIGINT', 'SIGINT'],
    code: 130,
  },
] as const) {
  test(`a real process that ${name} exits with ${code}`, async (t) => {
    const process_ = spawn(process.execPath, ['--input-type=module', '-e', child(grace, run)]);
    t.after(() => process_.kill('SIGKILL'));
    let output = '';
    const waiting = [...sent];
    let markers = 0;
    process_.stdout.setEncoding('utf8').on('data', (text) => {
      output += text;
      const seen = output.split(/started|"msg":"stopping"/).length - 1;
      for (; markers < seen; markers += 1) {
        const signal = waiting.shift();
        if (signal) process_.kill(signal);
      }
    });
    const [exitCode, signal] = await once(process_, 'exit');
    assert.deepEqual([exitCode, signal], [code, null], output);
  });
}
