import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { type ResultPart, resultUrl } from '@hermes-fleet/protocol/api';
import { tempDir } from '@hermes-fleet/protocol/testing';
import {
  DELIVERY,
  delivering,
  delivers,
  errorOf,
  fileResults,
  getAt,
  jsonOf,
} from '../../testing/file-results.ts';
import { routes, TOKENS } from '../../testing/fleet-routes.ts';
import { dispatching } from '../../testing/messages.ts';
import { profile } from '../../testing/profile.ts';
import { CALLER, DONE, type Script, untilAborted } from '../../testing/scripts.ts';
import { until } from '../../testing/without-memory.ts';

const { repository, branch, commit, base } = DELIVERY;
const COMMITS = { contextId: 'c', repository, branch, base, commit };
const DIFF: ResultPart = { kind: 'diff', stat: false };

/** A profile with a task that has ended, and the address of a part of its result. */
async function setup(t: TestContext, script: Script = delivers) {
  const results = fileResults(tempDir(t));
  const one = await profile(t, { script, results });
  await one.serve();
  const id = await one.send({ ...dispatching(), contextId: 'c' });
  await one.result(id);
  const get = (part: ResultPart) => getAt(one, resultUrl(id, part));
  return { one, id, results, get };
}

test('a caller reads the diff, a file and a bundle of the result of its task', async (t) => {
  const { results, get } = await setup(t);
  const cases: [ResultPart, string, object][] = [
    [DIFF, 'text/x-diff; charset=utf-8', { diff: COMMITS, stat: false }],
    [
      { kind: 'diff', path: 'a/b', stat: true },
      'text/x-diff; charset=utf-8',
      { diff: COMMITS, path: 'a/b', stat: true },
    ],
    [{ kind: 'file', path: 'a/b' }, 'application/octet-stream', { file: COMMITS, path: 'a/b' }],
    [{ kind: 'bundle', whole: false }, 'application/x-git-bundle', { bundle: COMMITS, whole: false }],
    [{ kind: 'bundle', whole: true }, 'application/x-git-bundle', { bundle: COMMITS, whole: true }],
  ];
  for (const [part, type, asked] of cases) {
    const response = await get(part);
    const text = await response.text();
    assert.deepEqual([response.status, JSON.parse(text)], [200, asked]);
    const header = (name: string) => response.headers.get(name);
    assert.deepEqual([header('content-type'), header('content-length')], [type, String(text.length)]);
    assert.deepEqual(
      [header('content-disposition'), header('x-content-type-options'), header('cache-control')],
      ['attachment', 'nosniff', 'private, no-store'],
    );
  }
  await until(() => results.left() === 0);
});

test('the path of a file arrives as it is', async (t) => {
  const { one, id, get } = await setup(t);
  const names = [
    'a b',
    'a%2Fb',
    '%',
    '%2525',
    '..',
    '../x',
    'a/../b',
    '/etc/x',
    'a//b',
    'ü/\u{1f600}',
    'new\nline',
    '\t',
    '#?&=;+',
    '.',
    '-x',
    ':(glob)*',
    `${'long/'.repeat(800)}x`,
  ];
  for (const path of names.filter((name) => !/^\.+$/.test(name)))
    assert.equal((await jsonOf(get({ kind: 'file', path }))).path, path);
  for (const path of names) assert.equal((await jsonOf(get({ ...DIFF, path }))).path, path);
  // As clients send it that encode only what a URL needs.
  const plain = await getAt(one, `/fleet/tasks/${id}/files/src/a%20b.ts`);
  assert.equal((await jsonOf(plain)).path, 'src/a b.ts');
});

test('a wrong query or path is refused with its name, and nothing is read', async (t) => {
  const { one, id, results } = await setup(t);
  results.onRead = () => assert.fail('read');
  for (const [path, field] of [
    ['diff?stat=yes', 'stat'],
    ['diff?path=a&path=b', 'path'],
    ['diff?path=', 'path'],
    ['diff?path=%00', 'path'],
    ['diff?paths=a', 'paths'],
    ['files/', 'path'],
    ['files/a%00', 'path'],
    ['files/a?raw=true', 'raw'],
    ['bundle?whole=1', 'whole'],
  ]) {
    const response = await getAt(one, `/fleet/tasks/${id}/${path}`);
    const { error } = await jsonOf(response);
    assert.deepEqual(
      [response.status, error.code, error.fields[0].path, error.fields.length],
      [400, 'INVALID_PARAMS', field, 1],
      path,
    );
  }
});

test('the task of another caller is as unknown as none, and the scope read is required', async (t) => {
  const { one, url } = await routes(t, { script: delivers, results: fileResults(tempDir(t)) });
  const id = await one.send(dispatching(), { ...CALLER, name: 'neighbour' });
  await one.result(id);
  const get = (task: string, token: string) =>
    errorOf(fetch(`${url}${resultUrl(task, DIFF)}`, { headers: { authorization: `Bearer ${token}` } }));
  const [status, code, message] = await get(id, TOKENS.operator);
  assert.deepEqual([status, code], [404, 'TASK_NOT_FOUND']);
  assert.deepEqual(await get('none', TOKENS.operator), [404, 'TASK_NOT_FOUND', message.replace(id, 'none')]);
  const [refused, , why] = await get(id, TOKENS.sender);
  assert.equal(refused, 403);
  assert.match(why, /read/);
  assert.equal((await get(id, 'nobody'))[0], 401);
});

test('a task without a result that can be read is refused with the reason', async (t) => {
  const reasons: [Script, RegExp][] = [
    [async () => DONE, /changed no files$/],
    [async () => delivering({ commit: null }), /not committed.*working tree.*fleet\/c$/],
    [async () => delivering({ base: null }), /no commit with which/],
    [async () => ({ ...DONE, artifacts: { filesChanged: ['a.ts'] } }), /before the release.*take the branch/],
  ];
  for (const [script, reason] of reasons) {
    const { get } = await setup(t, script);
    const [status, code, message] = await errorOf(get(DIFF));
    assert.deepEqual([status, code], [404, 'NO_RESULT']);
    assert.match(message, reason);
  }
  const running = await profile(t, { script: untilAborted });
  await running.serve();
  const id = await running.send(dispatching());
  assert.match((await errorOf(getAt(running, resultUrl(id, DIFF))))[2], /has not ended: ask again/);
  const bare = await profile(t, { script: delivers });
  await bare.serve();
  const ended = await bare.send(dispatching());
  await bare.result(ended);
  assert.match((await errorOf(getAt(bare, resultUrl(ended, DIFF))))[2], /keeps no files/);
});

test('a refusal of the agent is the answer', async (t) => {
  const { results, get } = await setup(t);
  results.onRead = () => {
    throw new FleetError('NO_RESULT', 'the context is gone');
  };
  assert.deepEqual(await errorOf(get(DIFF)), [404, 'NO_RESULT', 'the context is gone']);
});

test('nobody reads a whole result for its head', async (t) => {
  const { one, id, results } = await setup(t);
  results.onRead = () => assert.fail('read');
  const headers = { authorization: `Bearer token-of-operator-for-${one.name}` };
  const { status } = await fetch(`http://127.0.0.1:${one.port}${resultUrl(id, DIFF)}`, {
    method: 'HEAD',
    headers,
  });
  assert.equal(status, 405);
});

test('a client that leaves ends the reading, and leaves no file', async (t) => {
  const { one, id, results } = await setup(t);
  const leave = async () => {
    const socket = connect(one.port, '127.0.0.1');
    const head = `GET ${resultUrl(id, DIFF)} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer token-of-operator-for-neo\r\n\r\n`;
    socket.write(head);
    return socket;
  };
  const reading = Promise.withResolvers<AbortSignal>();
  results.onRead = (signal) => {
    reading.resolve(signal);
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  };
  const early = await leave();
  const signal = await reading.promise;
  early.destroy();
  if (!signal.aborted) await once(signal, 'abort');

  results.onRead = () => undefined;
  results.content = Buffer.alloc(24 * 2 ** 20);
  const late = await leave();
  await once(late, 'readable');
  assert.equal(results.left(), 1);
  late.destroy();
  await until(() => results.left() === 0);
  // Fewer than four are open: the turns of those that left are free.
  for (let n = 0; n < 5; n += 1) (await leave()).destroy();
  results.content = undefined;
  assert.equal((await getAt(one, resultUrl(id, DIFF))).status, 200);
});
