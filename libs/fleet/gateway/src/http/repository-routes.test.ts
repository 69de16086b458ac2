import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { FleetError } from '@hermes-fleet/protocol';
import { BUNDLE_TYPE, bundleOfTaskUrl, REPOSITORIES, uploadUrl } from '@hermes-fleet/protocol/api';
import { manualClock, tempDir } from '@hermes-fleet/protocol/testing';
import { fileBundles } from '../../testing/file-bundles.ts';
import { errorOf, getAt, jsonOf } from '../../testing/file-results.ts';
import { routes, TOKENS } from '../../testing/fleet-routes.ts';
import { dispatching } from '../../testing/messages.ts';
import { profile } from '../../testing/profile.ts';
import { untilAborted } from '../../testing/scripts.ts';
import { until } from '../../testing/without-memory.ts';

const MIB = 2 ** 20;
const COMMIT = 'c0'.repeat(20);
const CONTENT = 'a bundle';
const SHA = createHash('sha256').update(CONTENT).digest('hex');
const SENT = { bundle: SHA, commit: COMMIT };
const UPLOAD = uploadUrl({ sha256: SHA, commit: COMMIT });
const OPERATOR = 'token-of-operator-for-neo';

async function serving(t: TestContext, maxBytes?: number) {
  const dir = tempDir(t);
  const bundles = fileBundles(dir, maxBytes);
  const clock = manualClock();
  const neo = await profile(t, {
    bundles,
    repositories: ['bundle'],
    script: untilAborted,
    routesClock: clock,
  });
  await neo.serve();
  const post = (
    path: string,
    body: RequestInit['body'],
    headers: Record<string, string> = {},
    token = OPERATOR,
  ) =>
    fetch(`http://127.0.0.1:${neo.port}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': BUNDLE_TYPE, ...headers },
      body: body ?? null,
      signal: AbortSignal.timeout(20_000),
      duplex: 'half',
    });
  /** An upload that is not complete. */
  const begin = async (length: string, content = '') => {
    const socket = connect(neo.port, '127.0.0.1');
    t.after(() => socket.destroy());
    socket.write(
      `POST ${UPLOAD} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${OPERATOR}\r\ncontent-type: ${BUNDLE_TYPE}\r\n${length}\r\n\r\n${content}`,
    );
    await once(socket, 'connect');
    return socket;
  };
  /** Of all files of bundles. */
  const bytesIn = (): number =>
    bundles.files().reduce((sum, name) => sum + statSync(join(dir, name)).size, 0);
  return { neo, bundles, clock, post, begin, bytesIn };
}

test('a bundle is taken as it comes, and its caller alone is told of it', async (t) => {
  const { neo, bundles, post } = await serving(t);
  let seen: string[] = [];
  bundles.onTake = (file) => {
    seen = [readFileSync(file, 'utf8')];
  };
  const taken = await post(`${UPLOAD}&repository=web`, CONTENT);
  assert.deepEqual([taken.status, await taken.json()], [200, { ...SENT, bytes: CONTENT.length }]);
  assert.deepEqual(seen, [CONTENT]);
  const listed = await jsonOf(getAt(neo, REPOSITORIES.list.path));
  assert.deepEqual(listed, {
    repositories: [],
    bundles: { max_bytes: 1024, sent: [{ ...SENT, repository: 'web', from_repository: [] }] },
  });
  bundles.chain = 51;
  assert.deepEqual((await jsonOf(getAt(neo, REPOSITORIES.list.path))).bundles, { max_bytes: 1024, sent: [] });
  assert.deepEqual(await bundles.sent('other'), []);
  assert.deepEqual(bundles.files(), [SHA], 'what was received is gone');
});

test('an upload that is wrong is refused, and leaves nothing', async (t) => {
  const { bundles, post } = await serving(t, 100);
  bundles.onTake = () => {
    throw new FleetError('BUNDLE_REFUSED', 'not taken');
  };
  const chunked = new ReadableStream({
    start: (stream) => {
      stream.enqueue(Buffer.alloc(101));
      stream.close();
    },
  });
  const cases: [string, Promise<Response>, number, string][] = [
    ['content', post(UPLOAD, CONTENT), 422, 'BUNDLE_REFUSED'],
    ['no SHA-256', post(UPLOAD.replace('sha256', 'sha'), CONTENT), 400, 'INVALID_PARAMS'],
    [
      'a short commit',
      post(`/fleet/repositories/bundles?sha256=${SHA}&commit=c0`, CONTENT),
      400,
      'INVALID_PARAMS',
    ],
    ['a wrong name', post(`${UPLOAD}&repository=a%0Ab`, CONTENT), 400, 'INVALID_PARAMS'],
    ['JSON', post(UPLOAD, '{}', { 'content-type': 'application/json' }), 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['too large', post(UPLOAD, Buffer.alloc(101)), 413, 'BODY_TOO_LARGE'],
    ['too large, of unknown length', post(UPLOAD, chunked), 413, 'BODY_TOO_LARGE'],
    ['no caller', post(UPLOAD, CONTENT, {}, 'nobody'), 401, 'UNAUTHENTICATED'],
  ];
  for (const [what, answer, status, code] of cases)
    assert.deepEqual((await errorOf(answer)).slice(0, 2), [status, code], what);
  assert.deepEqual(bundles.files(), []);
});

test('the scope dispatch is required, and a profile that keeps none takes no checkouts', async (t) => {
  const { ask, url } = await routes(t, { bundles: fileBundles(tempDir(t)) });
  assert.equal((await ask('GET', REPOSITORIES.list.path, undefined, TOKENS.reader)).status, 403);
  const headers = { authorization: `Bearer ${TOKENS.reader}`, 'content-type': BUNDLE_TYPE };
  assert.equal((await fetch(`${url}${UPLOAD}`, { method: 'POST', headers, body: 'x' })).status, 403);
  const without = await routes(t, {});
  assert.deepEqual((await without.ask('GET', REPOSITORIES.list.path)).body, { repositories: [] });
  assert.equal((await without.ask('POST', UPLOAD, {})).status, 404);
});

test('a bundle that arrives is not kept in memory', async (t) => {
  const PARTS = 64;
  const { bytesIn, post } = await serving(t, (PARTS + 1) * MIB);
  setFlagsFromString('--expose-gc');
  const held = (): number => {
    runInNewContext('gc')();
    return process.memoryUsage().arrayBuffers / MIB;
  };
  const part = Buffer.alloc(MIB);
  const before = held();
  let during = Number.POSITIVE_INFINITY;
  async function* parts() {
    for (let nth = 0; nth < PARTS; nth += 1) yield part;
    await until(() => bytesIn() === PARTS * MIB);
    during = held() - before;
    yield Buffer.from('the last');
  }
  assert.equal((await post(UPLOAD, ReadableStream.from(parts()))).status, 200);
  assert.ok(during < PARTS / 2, `${during} MiB of ${PARTS} are held`);
});

test('a client that leaves, or stops sending, ends its upload', async (t) => {
  const { bundles, begin, clock } = await serving(t);
  bundles.onTake = () => assert.fail('taken');
  const leaving = await begin('content-length: 100', 'a');
  await until(() => bundles.files().length === 1);
  leaving.destroy();
  await until(() => bundles.files().length === 0);
  const silent = await begin('content-length: 100', 'a');
  await clock.armed(60_000);
  await until(() => bundles.files().length === 1);
  clock.advance(60_000);
  const said = await once(silent, 'data', { signal: AbortSignal.timeout(10_000) });
  assert.match(String(said), /^HTTP\/1\.1 408 .*stopped for 60 s: send it again/s);
  assert.deepEqual(bundles.files(), []);
});

test('a client that leaves while its bundle is checked ends the check', async (t) => {
  const { bundles, begin } = await serving(t);
  const checking = Promise.withResolvers<void>();
  bundles.onTake = (_file, signal) => {
    checking.resolve();
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  };
  const client = await begin(`content-length: ${CONTENT.length}`, CONTENT);
  await checking.promise;
  client.destroy();
  await until(() => bundles.files().length === 0);
});

test('a caller sends two bundles at a time, and is told to wait with a third one', async (t) => {
  const { bundles, begin, post } = await serving(t);
  const first = await begin('content-length: 100', 'a');
  await begin('content-length: 100', 'a');
  await until(() => bundles.files().length === 2);
  assert.deepEqual((await errorOf(post(UPLOAD, CONTENT))).slice(0, 2), [429, 'TOO_MANY_STREAMS']);
  first.destroy();
  await until(() => bundles.files().length === 1);
  assert.equal((await post(UPLOAD, CONTENT)).status, 200);
});

test('the bundles of a task open with its token, while it is not over, and to nobody else', async (t) => {
  const { neo, bundles } = await serving(t);
  const older = { bundle: '0b'.repeat(32), commit: 'b0'.repeat(20) };
  const other = { bundle: '0d'.repeat(32), commit: 'd0'.repeat(20) };
  bundles.keep('operator', SENT, CONTENT);
  bundles.keep('operator', older, 'the older one');
  bundles.keep('operator', other, 'of another context');
  await bundles.use('operator', older.bundle, 'c');
  const repository = { bundle: SHA, base: COMMIT };
  const id = await neo.send({ ...dispatching({ repository }), contextId: 'c' });
  await neo.event(id, 'started');
  const plain = await neo.send(dispatching());
  const tokenOf = (task: string) => neo.ledger.contexts.repositoryToken(task);
  const get = (path: string, token = tokenOf(id)) =>
    fetch(`http://127.0.0.1:${neo.port}${path}`, { headers: { authorization: `Bearer ${token}` } });
  const own = await get(bundleOfTaskUrl(id, COMMIT));
  assert.equal(own.headers.get('content-type'), BUNDLE_TYPE);
  assert.deepEqual([own.headers.get('content-length'), await own.text()], [String(CONTENT.length), CONTENT]);
  assert.equal(await (await get(`/fleet/tasks/${id}/repository`)).text(), CONTENT);
  assert.equal(await (await get(bundleOfTaskUrl(id, older.commit))).text(), 'the older one');
  await until(() => bundles.files().length === 3);
  const commitOfOther = await errorOf(get(bundleOfTaskUrl(id, other.commit)));
  assert.deepEqual(commitOfOther.slice(0, 2), [404, 'NO_RESULT']);
  const unknown: [string, Promise<Response>][] = [
    ['another task’s token', get(bundleOfTaskUrl(id, COMMIT), tokenOf(plain))],
    ['a task without a checkout', get(bundleOfTaskUrl(plain, COMMIT), tokenOf(plain))],
    ['no task', get(bundleOfTaskUrl('nobody', COMMIT), tokenOf('nobody'))],
    ['its caller', get(bundleOfTaskUrl(id, COMMIT), OPERATOR)],
    ['no token', fetch(`http://127.0.0.1:${neo.port}${bundleOfTaskUrl(id, COMMIT)}`)],
  ];
  for (const [what, answer] of unknown)
    assert.deepEqual((await errorOf(answer)).slice(0, 2), [404, 'TASK_NOT_FOUND'], what);
  assert.equal((await getAt(neo, `/fleet/tasks/${id}/cost`, 'operator')).status, 200);
  assert.equal((await get(`/fleet/tasks/${id}/cost`)).status, 401, 'the token opens nothing else');
  await neo.gateway.cancel(id, { name: 'operator', scopes: new Set() });
  await neo.result(id);
  assert.equal((await get(bundleOfTaskUrl(id, COMMIT))).status, 404);
});

test('a caller is told what its context works on', async (t) => {
  const { neo, bundles } = await serving(t);
  bundles.keep('operator', SENT, CONTENT);
  const repository = { bundle: SHA, base: COMMIT };
  await neo.send({ ...dispatching({ repository }), contextId: 'c' });
  const of = async (context: string) =>
    (await jsonOf(getAt(neo, `${REPOSITORIES.list.path}?context=${context}`))).context;
  assert.deepEqual([await of('c'), await of('other')], [{ name: null }, undefined]);
});
