import assert from 'node:assert/strict';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { freePort } from '@hermes-fleet/gateway/testing';
import { deadline } from '@hermes-fleet/protocol/testing';
import { LOGIN_SECRET, startBus } from '../testing/console.ts';
import { examineConsole } from './doctor.ts';

const DIR = resolve(import.meta.dirname, '../../../deploy/console');
const place = { dir: DIR, stateDir: join(DIR, 'state'), host: '127.0.0.1', logLevel: 'silent' };

/** The findings as `subject check state`. */
const lines = (report: Awaited<ReturnType<typeof examineConsole>>): string[] =>
  report.findings.map(({ subject, check, state }) => [subject, check, state].join(' '));

test('the doctor names what the console cannot reach, and what to do about it', deadline, async (t) => {
  const nats = await startBus(t);
  const environment = { ...place, port: await freePort() };
  const env = {
    CONSOLE_LOGIN: LOGIN_SECRET,
    NATS_HOST: '127.0.0.1',
    NATS_PORT: new URL(nats.url).port,
    ...Object.fromEntries(
      ['SWITCH', 'NEO', 'MORPHEUS', 'TRINITY', 'TRADER'].map((name) => [`${name}_PORT`, '1']),
    ),
  };
  const report = await examineConsole(environment, env);
  assert.equal(report.ok, false);
  assert.deepEqual(lines(report).slice(0, 6), [
    ...['configuration files ok', 'configuration keys ok'],
    ...['nats stream FLEET ok', 'nats stream FLEET_ANNOUNCE ok', 'nats stream FLEET_AUDIT ok'],
    'switch address failed',
  ]);
  assert.match(report.findings.find(({ subject }) => subject === 'neo')?.fix ?? '', /start it, or correct/);
  assert.equal(lines(report).at(-1), 'console ready skipped');

  const away = await examineConsole(environment, { ...env, NATS_PORT: '1', CONSOLE_LOGIN: 'short' });
  assert.ok(lines(away).includes('configuration keys failed'));
  assert.ok(lines(away).includes('nats connection failed'));
  const missing = await examineConsole({ ...environment, dir: join(DIR, 'none') }, env);
  assert.deepEqual(lines(missing), ['configuration files failed', 'configuration keys ok']);
});
