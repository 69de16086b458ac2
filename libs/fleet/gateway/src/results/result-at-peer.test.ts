import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { createA2AClient } from '@hermes-fleet/a2a';
import { FleetError } from '@hermes-fleet/protocol';
import type { ResultPart } from '@hermes-fleet/protocol/api';
import { type Clock, silentLog, systemClock } from '@hermes-fleet/protocol/ports';
import { manualClock } from '@hermes-fleet/protocol/testing';
import { freePort } from '../../testing/free-port.ts';
import { until } from '../../testing/without-memory.ts';
import { resultAtPeer } from './result-at-peer.ts';

const DIFF: ResultPart = { kind: 'diff', stat: false };
const TYPE = { 'content-type': 'text/x-diff; charset=utf-8' };
const never = new AbortController().signal;
const { fetch } = createA2AClient({ clock: systemClock, log: silentLog, extensions: [] });

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

async function startServer(t: TestContext, handle: Handle) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    handle(request, response);
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port, requests };
}

/** A peer at a path of its own that answers so. */
async function peer(t: TestContext, handle: Handle) {
  const { port, requests } = await startServer(t, handle);
  const endpoint = { name: 'neo', url: `http://127.0.0.1:${port}/behind/jsonrpc`, token: 'tok' };
  const open = (
    part: ResultPart = DIFF,
    change: { taskId?: string; maxBytes?: number; signal?: AbortSignal; clock?: Clock } = {},
  ) => resultAtPeer({ endpoint, taskId: 't/1', part, fetch, clock: systemClock, signal: never, ...change });
  const refusal = async (...args: Parameters<typeof open>): Promise<FleetError> =>
    open(...args).then(
      () => assert.fail('opened'),
      (error) => (error instanceof FleetError ? error : assert.fail(error)),
    );
  return { open, refusal, requests };
}

const answer =
  (status: number, body: string, headers: Record<string, string> = {}): Handle =>
  (_request, response) =>
    void response.writeHead(status, headers).end(body);
const error = (code: string): string =>
  JSON.stringify({ error: { code, message: 'WORDS\n\u001bOF THE PEER'.padEnd(900, '!') } });

test('the peer is asked beside its own address, with its token, and its length is passed on', async (t) => {
  const { open, requests } = await peer(t, answer(200, 'd', { ...TYPE, 'content-length': '1' }));
  const { content, bytes } = await open({ kind: 'diff', path: 'a b/ü', stat: true });
  assert.deepEqual([bytes, await text(content)], [1, 'd']);
  const [asked] = requests;
  assert.equal(asked?.url, '/behind/fleet/tasks/t%2F1/diff?path=a+b%2F%C3%BC&stat=true');
  assert.equal(asked?.headers.authorization, 'Bearer tok');
});

const REFUSALS: [what: string, status: number, body: string, code: string, message: RegExp][] = [
  ['no result', 404, error('NO_RESULT'), 'NO_RESULT', /^neo has no result of the task: WORDS OF THE PEER!+$/],
  ['a task that is gone', 404, error('TASK_NOT_FOUND'), 'NO_RESULT', /WORDS/],
  [
    'an older release',
    404,
    error('NOT_FOUND'),
    'UNSUPPORTED_OPERATION',
    /^neo .*HTTP 404 NOT_FOUND.*upgrade it/,
  ],
  ['a proxy', 404, '<html>', 'UNSUPPORTED_OPERATION', /HTTP 404\)/],
  ['an older release behind it', 400, error('UNSUPPORTED_OPERATION'), 'UNSUPPORTED_OPERATION', /peer of it/],
  ['a wrong token', 401, error('UNAUTHENTICATED'), 'PEER_REFUSED', /^neo .*fleet\.agents\.neo/],
  ['no scope', 403, error('FORBIDDEN'), 'PEER_REFUSED', /the scope read there/],
  [
    'a large result',
    413,
    error('ARTIFACT_TOO_LARGE'),
    'ARTIFACT_TOO_LARGE',
    /^the diff at neo.*: ask for `stat`, one path, or the bundle \(fleet diff --stat, .*, fleet pull\)$/,
  ],
  [
    'a peer behind it that is away',
    502,
    error('PEER_UNREACHABLE'),
    'PEER_UNREACHABLE',
    /^neo.*cannot reach the peer/,
  ],
  ['too many', 429, error('TOO_MANY_STREAMS'), 'TOO_MANY_STREAMS', /^neo.* other results: ask again/],
  ['too much', 429, '', 'PEER_REFUSED', /HTTP 429/],
  ['a page', 200, 'words', 'PEER_REFUSED', /no result: check its address/],
];
for (const [what, status, body, code, message] of REFUSALS)
  test(`a peer that answers with ${what} is ${code}, without other words of it`, async (t) => {
    const { refusal } = await peer(t, answer(status, body, { 'content-type': 'text/html' }));
    const refused = await refusal();
    assert.equal(refused.code, code);
    assert.match(refused.message, message);
    assert.ok(refused.message.length < 400);
    if (code !== 'NO_RESULT') assert.doesNotMatch(refused.message, /WORDS/);
    assert.equal(refused.retryable, status === 429 || code === 'PEER_UNREACHABLE');
  });

test('a redirect is not followed, and the token stays', async (t) => {
  const other = await startServer(t, answer(200, 'd', TYPE));
  const { refusal } = await peer(t, answer(302, '', { location: `http://127.0.0.1:${other.port}/` }));
  assert.match((await refusal()).message, /HTTP 302/);
  assert.equal(other.requests.length, 0);
});

test('a peer that is away is PEER_UNREACHABLE, with what to do', async () => {
  const endpoint = { name: 'neo', url: `http://127.0.0.1:${await freePort()}/jsonrpc`, token: undefined };
  const clock = systemClock;
  await assert.rejects(resultAtPeer({ endpoint, taskId: 't', part: DIFF, fetch, clock, signal: never }), {
    code: 'PEER_UNREACHABLE',
    message: 'neo, which did the task, does not answer (ECONNREFUSED): ask again when it can be reached',
  });
});

test('a connection that breaks fails the stream, with a length and without one', async (t) => {
  for (const headers of [TYPE, { ...TYPE, 'content-length': '9' }]) {
    const { open } = await peer(t, (_request, response) => {
      response.writeHead(200, headers).write('half', () => response.destroy());
    });
    const { content } = await open();
    await assert.rejects(text(content), { code: 'PEER_UNREACHABLE', message: /^neo.* broke off its answer/ });
  }
});

test('a peer that accepts a request and says nothing is named after 90 s', async (t) => {
  const { refusal } = await peer(t, () => undefined);
  const clock = manualClock();
  const refused = refusal(DIFF, { clock });
  await clock.armed(90_000);
  clock.advance(90_000);
  const { code, message } = await refused;
  assert.deepEqual(
    [code, message],
    [
      'PEER_UNREACHABLE',
      'neo, which did the task, has sent nothing for 90 s: ask again when it can be reached',
    ],
  );
  assert.equal(clock.timers, 0);
});

test('a peer that stops in the middle of its answer fails the stream after 60 s', async (t) => {
  const { open } = await peer(t, (_request, response) => void response.writeHead(200, TYPE).write('half'));
  const clock = manualClock();
  const { content } = await open(DIFF, { clock });
  const chunks = content[Symbol.asyncIterator]();
  assert.equal(String((await chunks.next()).value), 'half');
  await clock.armed(60_000);
  clock.advance(60_000);
  await assert.rejects(chunks.next(), {
    code: 'PEER_UNREACHABLE',
    message: /^neo, which did the task, has sent nothing for 60 s/,
  });
  assert.equal(clock.timers, 0);
});

test('a client that reads slowly is not the silence of its peer', async (t) => {
  const sent = 'x'.repeat(4 * 2 ** 20);
  const { open } = await peer(t, answer(200, sent, TYPE));
  const clock = manualClock();
  const { content } = await open(DIFF, { clock });
  const chunks = content[Symbol.asyncIterator]();
  let read = String((await chunks.next()).value);
  await until(() => clock.timers === 0);
  clock.advance(600_000);
  for await (const chunk of { [Symbol.asyncIterator]: () => chunks }) read += String(chunk);
  assert.ok(read === sent);
});

test('more bytes than are passed on are refused before the first if the peer says so, else where they exceed', async (t) => {
  const known = await peer(t, answer(200, 'four', { ...TYPE, 'content-length': '4' }));
  assert.equal((await known.refusal(DIFF, { maxBytes: 3 })).code, 'ARTIFACT_TOO_LARGE');
  assert.equal(await text((await known.open(DIFF, { maxBytes: 4 })).content), 'four');
  const unknown = await peer(t, answer(200, 'four', { ...TYPE, 'transfer-encoding': 'chunked' }));
  const { content, bytes } = await unknown.open(DIFF, { maxBytes: 3 });
  assert.equal(bytes, undefined);
  await assert.rejects(text(content), { code: 'ARTIFACT_TOO_LARGE' });
});

test('what no URL can name is not asked for', async (t) => {
  const { refusal, requests } = await peer(t, answer(200, 'd', TYPE));
  for (const path of ['.', '..']) assert.equal((await refusal({ kind: 'file', path })).code, 'NO_RESULT');
  assert.equal((await refusal(DIFF, { taskId: '..' })).code, 'NO_RESULT');
  assert.equal(requests.length, 0);
});

test('the signal ends the request and the stream, with its reason', async (t) => {
  const { open } = await peer(t, (_request, response) => void response.writeHead(200, TYPE).write('half'));
  const gone = new AbortController();
  const { content } = await open(DIFF, { signal: gone.signal });
  const reading = text(content);
  gone.abort(new Error('gone'));
  await assert.rejects(reading);
  await assert.rejects(open(DIFF, { signal: gone.signal }), /^Error: gone$/);
});
