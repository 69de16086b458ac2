import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AUTHORIZATION, captureLogs, startApp } from '../../testing/start-app.ts';
import { createLogger } from '../logger.ts';
import { RequestLog } from './request-log.ts';

function open() {
  const logs = captureLogs();
  const base = createLogger({ name: 'neo', level: 'trace', pretty: false, stream: logs });
  return { logs, log: new RequestLog(base, { request_id: 'r-1' }) };
}

test('the line of a request has its fields first', () => {
  const { logs, log } = open();
  log.add('caller', 'switch');
  log.line('info', { status: 200, code: undefined }, 'request');
  const { time: _, ...line } = logs.lines[0] ?? {};
  assert.deepEqual(Object.entries(line), [
    ['level', 'info'],
    ['name', 'neo'],
    ['request_id', 'r-1'],
    ['caller', 'switch'],
    ['status', 200],
    ['msg', 'request'],
  ]);
});

test('the fields of one line are not those of later lines', () => {
  const { logs, log } = open();
  log.line('info', { status: 200, request_id: 'other' }, 'request');
  log.warn('of a handler that goes on');
  log.line('info', {}, 'again');
  assert.deepEqual(
    logs.lines.map(({ request_id, status, msg }) => [request_id, status, msg]),
    [
      ['other', 200, 'request'],
      ['r-1', undefined, 'of a handler that goes on'],
      ['r-1', undefined, 'again'],
    ],
  );
});

test('every level and every form of a line has the fields that are known by then', () => {
  const { logs, log } = open();
  log.warn('text');
  log.add('caller', 'switch');
  for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const)
    log[level]({ at: level }, 'of %s', 'a handler');
  log.silent();
  log.child({ part: 'a' }).info({}, 'of a child');
  assert.deepEqual(
    logs.lines.map(({ level, request_id, caller, at, part, msg }) => [
      level,
      request_id,
      caller,
      at,
      part,
      msg,
    ]),
    [
      ['warn', 'r-1', undefined, undefined, undefined, 'text'],
      ...['trace', 'debug', 'info', 'warn', 'error', 'fatal'].map((level) => [
        ...[level, 'r-1', 'switch', level, undefined],
        'of a handler',
      ]),
      ['info', 'r-1', 'switch', undefined, 'a', 'of a child'],
    ],
  );
});

test('the level of a request changes nobody else', () => {
  const { logs, log } = open();
  assert.equal(log.level, 'trace');
  log.level = 'error';
  log.info({}, 'not written');
  log.error({}, 'written');
  assert.deepEqual(
    logs.lines.map(({ msg }) => msg),
    ['written'],
  );
});

test('a route has its own level and serializers', async (t) => {
  const { url, logs } = await startApp(t, {
    routes: (app) => {
      const logSerializers = { text: () => 'hidden' };
      app.get('/quiet', { logLevel: 'warn' }, async ({ log }) => void log.warn({ text: 'shown' }, 'quiet'));
      app.get('/other', { logSerializers }, async ({ log }) => void log.warn({ text: 'shown' }, 'other'));
    },
  });
  for (const path of ['quiet', 'other']) await fetch(`${url}/${path}`, { headers: AUTHORIZATION });
  await logs.find(({ msg }) => msg === 'request');
  assert.deepEqual(
    logs.lines.filter(({ request_id }) => request_id).map(({ msg, text }) => [msg, text]),
    [
      ['quiet', 'shown'],
      ['other', 'hidden'],
      ['request', undefined],
    ],
  );
});
