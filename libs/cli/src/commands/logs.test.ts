import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { parseAllDocuments } from 'yaml';
import { fakeDocker } from '../../testing/fake-docker.ts';
import { fleet } from '../../testing/profile-stub.ts';

const line = (second: number, name: string, task: string, of: string, msg: string, more = {}): string =>
  JSON.stringify({
    ...{ level: 'info', time: `2030-01-01T00:00:0${second}.000Z`, name, task_id: task, dispatch_id: of },
    ...{ root_id: 'flight-1', trace_id: 'a', ...more, msg },
  });
const LINES = {
  accepted: line(1, 'switch', 's-1', 'flight-1', 'task accepted'),
  sent: line(2, 'switch', 's-1', 'flight-1', 'task is sent to a peer', { peer: 'neo' }),
  atNeo: line(3, 'neo', 'n-1', 's-1', 'task \u001b[2J\u2028started', { err: { message: 'bad', stack: 'x' } }),
  // 1.0 is another text than the number that it is.
  ended: line(4, 'switch', 's-1', 'flight-1', 'task ended').replace('"msg"', '"n":1.0,"msg"'),
};

test('logs prints the lines of a task of all services in the order of time, also of rotated files', async (t) => {
  const dir = tempDir(t);
  mkdirSync(join(dir, 'logs'));
  const log = (name: string, ...lines: string[]): void =>
    writeFileSync(join(dir, 'logs', name), `${lines.join('\n')}\n`);
  log('switch.log.1', 'not JSON', LINES.accepted);
  log('switch.log', LINES.sent, LINES.ended, line(5, 'switch', 's-2', 'other', 'x', { root_id: 'other' }));
  log('neo.log', LINES.atNeo);
  const text = await fleet(['logs', 's-1', '--dir', dir]);
  assert.deepEqual(text, {
    code: 0,
    stderr: '',
    stdout: [
      '2030-01-01T00:00:01.000Z  switch    info   s-1  task accepted',
      '2030-01-01T00:00:02.000Z  switch    info   s-1  task is sent to a peer  peer=neo',
      '2030-01-01T00:00:03.000Z  neo       info   n-1  task \ufffd[2J\ufffdstarted  err=bad',
      '2030-01-01T00:00:04.000Z  switch    info   s-1  task ended  n=1\n',
    ].join('\n'),
  });
  const raw = [LINES.accepted, LINES.sent, LINES.atNeo.replace('\u2028', '\\u2028'), LINES.ended];
  assert.equal((await fleet(['logs', 'n-1', '--dir', dir, '--json'])).stdout, `${raw.join('\n')}\n`);
  const yaml = await fleet(['logs', 'flight-1', '--dir', dir, '-o', 'yaml']);
  const documents = parseAllDocuments(yaml.stdout).map((each) => each.toJS());
  assert.deepEqual(
    documents,
    raw.map((each) => JSON.parse(each)),
  );
});

test('logs reads the logs of containers, whatever their order', async (t) => {
  const { ended, atNeo, accepted } = LINES;
  // The prefixes of docker compose logs, the first with --no-log-prefix.
  const lines = [`\u001b[2K${ended}`, `neo-1      | ${atNeo}`, `${accepted}\r`];
  const { at, env } = fakeDocker(t, 'case "$*" in *" logs "*) cat "$at/lines" ;; esac');
  writeFileSync(join(at, 'lines'), lines.join('\n'));
  const piped = await fleet(['logs', 'flight-1', '--json'], '', { FLEET_MODE: 'docker', PATH: env.PATH });
  assert.deepEqual(
    [piped.code, piped.stdout],
    [0, `${[accepted, atNeo.replace('\u2028', '\\u2028'), ended].join('\n')}\n`],
  );
});

test('logs says what is missing', async (t) => {
  const dir = tempDir(t);
  const none = await fleet(['logs', 's-1', '--dir', dir]);
  assert.deepEqual([none.code, none.stderr], [1, 'fleet: there are no logs yet: make up starts the fleet\n']);
  mkdirSync(join(dir, 'logs'));
  writeFileSync(join(dir, 'logs/neo.log'), LINES.ended);
  const unknown = await fleet(['logs', 'nobody', '--dir', dir, '--json']);
  assert.equal(unknown.code, 1);
  const { error } = JSON.parse(unknown.stdout);
  assert.deepEqual(
    [error.code, error.message],
    [
      'TASK_NOT_FOUND',
      'no log line names the task "nobody": its lines are rotated away, or LOG_LEVEL leaves them out',
    ],
  );
});

test('logs prints the log of the supervisor, which is a process of the fleet', (t) => {
  const dir = tempDir(t);
  mkdirSync(join(dir, 'logs'));
  writeFileSync(join(dir, 'logs/supervisor.log'), 'neo has died\nneo was started again\n');
  const main = join(import.meta.dirname, '../main.ts');
  const args = [main, 'logs', 'supervisor', '--tail', '1', '--dir', dir];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.deepEqual([status, stdout], [0, 'neo was started again\n']);
});
