import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type ResultPart, resultUrl } from '@hermes-fleet/protocol/api';
import { deadline, tempDir } from '@hermes-fleet/protocol/testing';
import { DELIVERY, delivers, errorOf, fileResults, getAt, jsonOf } from '../../testing/file-results.ts';
import { dispatching } from '../../testing/messages.ts';
import { relayFleet } from '../../testing/relay-fleet.ts';
import type { Script } from '../../testing/scripts.ts';
import type { ProfileOptions, TestProfile } from '../../testing/test-profile.ts';
import { until } from '../../testing/without-memory.ts';

const { repository, branch, commit, base } = DELIVERY;
const COMMITS = { contextId: 'c', repository, branch, base, commit };
const DIFF: ResultPart = { kind: 'diff', stat: false };
/** More than the buffers of two connections take. */
const HUGE = 32 * 2 ** 20;

/** switch, with a task that neo did. */
async function relayed(t: TestContext, o: Pick<ProfileOptions, 'routes'> = {}) {
  const results = fileResults(tempDir(t));
  const { orchestrator, worker } = await relayFleet(t, { neo: { script: delivers, results, ...o } });
  await orchestrator.serve();
  const id = await send(orchestrator, 'neo');
  return {
    orchestrator,
    neo: worker('neo'),
    results,
    id,
    get: (part = DIFF) => getAt(orchestrator, resultUrl(id, part)),
  };
}

async function send(orchestrator: TestProfile, target: string): Promise<string> {
  const id = await orchestrator.send({ ...dispatching({}, { routing: { target } }), contextId: 'c' });
  const { status, artifacts } = await orchestrator.result(id);
  assert.deepEqual([status, artifacts.delivery], ['done', DELIVERY]);
  return id;
}

/** A client that has got the head of an answer, and reads no further. */
async function stalled({ port, name }: TestProfile, path: string, caller = 'operator'): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.write(
    `GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer token-of-${caller}-for-${name}\r\n\r\n`,
  );
  await once(socket, 'readable');
  return socket;
}

test(
  'a part of a result comes from the worker that did the task, by the same address',
  deadline,
  async (t) => {
    const { get, results } = await relayed(t);
    for (const path of ['a/b', 'a%2Fb', '../x', 'new\nline', 'ü/\u{1f600} ?#&+'])
      assert.deepEqual(await jsonOf(get({ kind: 'file', path })), { file: COMMITS, path });
    const bundle = await get({ kind: 'bundle', whole: true });
    assert.equal(bundle.headers.get('content-type'), 'application/x-git-bundle');
    assert.deepEqual(await jsonOf(bundle), { bundle: COMMITS, whole: true });
    const diff = await get({ kind: 'diff', path: 'x', stat: true });
    assert.deepEqual(
      [
        diff.headers.get('content-type'),
        diff.headers.get('content-disposition'),
        diff.headers.get('cache-control'),
      ],
      ['text/x-diff; charset=utf-8', 'attachment', 'private, no-store'],
    );
    assert.deepEqual(await jsonOf(diff), { diff: COMMITS, path: 'x', stat: true });
    await until(() => results.left() === 0);
  },
);

test('a result that was relayed twice comes through both orchestrators', deadline, async (t) => {
  const results = fileResults(tempDir(t));
  const passing: Script = (task, context) => {
    const dispatch = { ...task.dispatch, routing: { target: 'neo' } };
    return made.worker('morpheus').gateway.subtasks.run({ ...task, id: 'part', dispatch }, context);
  };
  const made = await relayFleet(t, {
    neo: { script: delivers, results },
    morpheus: { script: passing },
  });
  await made
    .worker('morpheus')
    .peers.record(await made.worker('neo').gateway.freshAnnounce(), { name: 'neo' });
  await made.orchestrator.serve();
  const id = await send(made.orchestrator, 'morpheus');
  const get = () => getAt(made.orchestrator, resultUrl(id, DIFF));
  assert.deepEqual(await jsonOf(get()), { diff: COMMITS, stat: false });
  await made.worker('neo').crash();
  const [status, code, message] = await errorOf(get());
  assert.deepEqual([status, code], [502, 'PEER_UNREACHABLE']);
  assert.match(message, /^morpheus.* cannot reach the peer/);
});

test('a worker that is away, or has no such routes, is named', deadline, async (t) => {
  const away = await relayed(t);
  await away.neo.crash();
  const [status, code, message] = await errorOf(away.get());
  assert.deepEqual([status, code], [502, 'PEER_UNREACHABLE']);
  assert.match(message, /^neo.*ECONNREFUSED/);
  const older = await relayed(t, { routes: () => undefined });
  assert.deepEqual((await errorOf(older.get())).slice(0, 2), [400, 'UNSUPPORTED_OPERATION']);
});

test(
  'a large part passes whole, and no faster than the client reads; one that leaves ends it everywhere',
  deadline,
  async (t) => {
    const { orchestrator, id, results, get } = await relayed(t);
    results.content = Buffer.alloc(HUGE, 'x');
    const response = await get();
    assert.equal(response.headers.get('content-length'), String(HUGE));
    assert.ok(results.content.equals(Buffer.from(await response.arrayBuffer())));
    await until(() => results.left() === 0);
    const client = await stalled(orchestrator, resultUrl(id, DIFF));
    assert.equal(results.left(), 1);
    client.destroy();
    await until(() => results.left() === 0);
  },
);

test(
  'a caller of an orchestrator that reads four parts slowly keeps no other one waiting',
  deadline,
  async (t) => {
    const { orchestrator, neo, id, results, get } = await relayed(t);
    const taskId = (await orchestrator.result(id)).attempts?.[0]?.peerTaskId ?? assert.fail();
    results.content = Buffer.alloc(HUGE);
    for (let n = 0; n < 4; n += 1) await stalled(neo, resultUrl(taskId, DIFF), 'switch');
    results.content = undefined;
    assert.deepEqual(await jsonOf(get()), { diff: COMMITS, stat: false });
  },
);

test('an answer of a worker that breaks off is never taken for a whole one', deadline, async (t) => {
  const { neo, results, get } = await relayed(t);
  results.content = Buffer.alloc(HUGE);
  const response = await get();
  await neo.crash();
  await assert.rejects(response.arrayBuffer());
  for (const length of [{}, { 'content-length': '9' }]) {
    const headers = { 'content-type': 'text/x-diff; charset=utf-8', ...length };
    const broken = await relayed(t, {
      routes: (app) =>
        app.get('/fleet/tasks/:id/diff', (_request, reply) => {
          reply.hijack();
          reply.raw.writeHead(200, headers).flushHeaders();
          setImmediate(() => reply.raw.destroy());
        }),
    });
    const [status, code, message] = await errorOf(broken.get());
    assert.deepEqual([status, code], [502, 'PEER_UNREACHABLE']);
    assert.match(message, /^neo.* broke off its answer/);
  }
});
