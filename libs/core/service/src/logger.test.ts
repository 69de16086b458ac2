import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { createLogger } from './logger.ts';

function capture() {
  const lines: string[] = [];
  return { lines, write: (line: string): void => void lines.push(line) };
}

test('a record is one line of JSON with its level as a word and an ISO time', () => {
  const stream = capture();
  const log = createLogger({ name: 'neo', pretty: false, stream });
  log.info({ task_id: 't-1' }, 'hello\nworld');
  assert.equal(stream.lines.length, 1);
  const { time, ...record } = JSON.parse(stream.lines[0] ?? '');
  assert.deepEqual(record, { level: 'info', name: 'neo', task_id: 't-1', msg: 'hello\nworld' });
  assert.match(time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
});

test('the level filters records; the default is info', () => {
  for (const [level, count] of [
    [undefined, 2],
    ['debug', 3],
    ['error', 1],
    ['silent', 0],
  ] as const) {
    const stream = capture();
    const log = createLogger({ name: 'neo', level, pretty: false, stream });
    log.debug({}, 'a');
    log.info({}, 'b');
    log.error({}, 'c');
    assert.equal(stream.lines.length, count, level);
  }
});

test('an unknown level is a configuration error', () => {
  assert.throws(() => createLogger({ name: 'neo', level: 'loud' }), {
    code: 'CONFIG_INVALID',
    message: 'log level "loud" does not exist; use one of trace, debug, info, warn, error, fatal, silent',
  });
});

test('secrets are redacted at any depth and in any text', () => {
  const stream = capture();
  const log = createLogger({ name: 'neo', level: 'info', pretty: false, stream });
  const child = log.child({ authorization: 'Bearer child-secret' });
  const error = new Error('refused: Bearer error-secret-1');
  child.info(
    {
      a: { b: { c: { token: 'deep-secret', Authorization: 'Basic header-secret' } } },
      list: [{ password: 'quote\\"d-secret' }],
      api_key: 'key-secret',
      apiKey: 'camel-secret',
      'x-api-key': 'dashed-secret',
      auth_token: 'prefixed-secret',
      url: 'nats://neo:url-secret@127.0.0.1:4222/x',
      tokens_spent: 7,
      token_env: 'A2A_HERMES_TOKEN_NEO',
      err: error,
      body: '{"a":{"token":"inner-secret"},"b":1}',
    },
    'sent Bearer text-secret-2 away',
  );
  const line = stream.lines[0] ?? '';
  assert.equal(line.match(/-secret/g), null);
  const record = JSON.parse(line);
  assert.equal(record.a.b.c.token, '[redacted]');
  assert.equal(record.list[0].password, '[redacted]');
  assert.equal(record.url, 'nats://neo:[redacted]@127.0.0.1:4222/x');
  assert.equal(record.msg, 'sent Bearer [redacted] away');
  assert.equal(record.body, '{"a":{"token":"[redacted]"},"b":1}');
  assert.equal(record.tokens_spent, 7);
  assert.equal(record.token_env, 'A2A_HERMES_TOKEN_NEO');
});

test('each line has its own time', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000 });
  const stream = capture();
  const log = createLogger({ name: 'neo', pretty: false, stream });
  for (const ms of [0, 0, 1]) {
    t.mock.timers.tick(ms);
    log.info('hello');
  }
  const times = stream.lines.map((line) => JSON.parse(line).time);
  assert.deepEqual(times, [
    '1970-01-01T00:00:01.000Z',
    '1970-01-01T00:00:01.000Z',
    '1970-01-01T00:00:01.001Z',
  ]);
});

test('pretty lines have time, level, message and fields, and are redacted', () => {
  const stream = capture();
  createLogger({ name: 'neo', pretty: true, stream }).warn({ task_id: 't-1', token: 'x-secret' }, 'careful');
  const text = stream.lines.join('');
  assert.match(text, /WARN.*careful/);
  assert.match(text, /task_id: "t-1"/);
  assert.doesNotMatch(text, /x-secret/);
});

test('the default is JSON on a standard output that is not a terminal', async () => {
  const script = `import { createLogger } from ${JSON.stringify(new URL('./logger.ts', import.meta.url).href)};
    createLogger({ name: 'neo' }).info({}, 'hello');`;
  const run = promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    timeout: 30_000,
  });
  assert.equal(JSON.parse((await run).stdout).msg, 'hello');
});
