import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { createA2AClient } from '@hermes-fleet/a2a';
import { FleetError } from '@hermes-fleet/protocol';
import { silentLog, systemClock } from '@hermes-fleet/protocol/ports';
import { fleetErrorOf } from '@hermes-fleet/protocol/testing';
import { freePort } from '../../testing/free-port.ts';
import { deleteAtPeer } from './delete-at-peer.ts';

const CONTEXT = 'a/b c?results=delete#ü';
const never = new AbortController().signal;
const { fetch } = createA2AClient({ clock: systemClock, log: silentLog, extensions: [] });

/** A peer at a path of its own that answers with this. */
async function peer(t: TestContext, status: number, body: string, headers: Record<string, string> = {}) {
  const requests: string[] = [];
  const server = createServer((request, reply) => {
    requests.push(`${request.method} ${request.url} ${request.headers.authorization ?? 'none'}`);
    reply.writeHead(status, headers).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  const endpoint = { name: 'neo', url: `http://127.0.0.1:${address.port}/behind/jsonrpc`, token: 'tok' };
  const ask = (contextId = CONTEXT) =>
    deleteAtPeer({ endpoint, contextId, results: 'keep', timeoutMs: 10_000, fetch, signal: never });
  return { ask, requests, endpoint };
}

const error = (code: string, message: unknown = 'TEXT OF THE PEER'): string =>
  JSON.stringify({ error: { code, message } });
const ours = (rest: object): string =>
  JSON.stringify({ context_id: CONTEXT, result: 'none', peers: [], ...rest });
const some = (count: number, state: string, name: (at: number) => string): object[] =>
  Array.from({ length: count }, (_, at) => ({ peer: name(at), state }));

const CASES: readonly [
  what: string,
  status: number,
  body: string,
  state: string,
  detail: RegExp | undefined,
][] = [
  ['a deletion', 200, ours({}), 'deleted', undefined],
  [
    'a deletion that goes on',
    200,
    ours({
      result: 'pending',
      peers: [
        { peer: 'x', state: 'deleted' },
        { peer: 'y', state: 'unsupported' },
      ],
    }),
    'pending',
    /^at neo: its files pending, y unsupported$/,
  ],
  [
    'a peer of its own that is pending',
    200,
    ours({ peers: some(1, 'pending', () => 'x') }),
    'pending',
    /^at neo: x pending$/,
  ],
  [
    'a refusal of a peer of its own',
    200,
    ours({ peers: some(1, 'refused', () => 'x') }),
    'deleted',
    /^at neo: x refused$/,
  ],
  [
    'text for the name of a peer',
    200,
    ours({ peers: some(2, 'refused', () => 'TEXT OF THE PEER') }),
    'deleted',
    /^at neo: 2 more not deleted$/,
  ],
  [
    'very many peers',
    200,
    ours({ peers: some(12, 'refused', (at) => `p${at}`) }),
    'deleted',
    /^at neo: p0 refused, .*p9 refused, 2 more not deleted$/,
  ],
  ['a state without a result', 200, ours({ result: undefined }), 'refused', /not valid \(result\)/],
  ['no list of peers', 200, ours({ peers: { length: 1 } }), 'refused', /not valid \(peers\)/],
  [
    'text for a state',
    200,
    ours({ peers: some(2, 'TEXT OF THE PEER', () => 'x') }),
    'refused',
    /not valid \(peers\[0\]\.state, peers\[1\]\.state\)/,
  ],
  [
    'a name that is no text',
    200,
    ours({ peers: [{ peer: { toString: 1 }, state: 'refused' }] }),
    'refused',
    /not valid \(peers\[0\]\.peer\)/,
  ],
  [
    'an unknown context',
    404,
    error('TASK_NOT_FOUND', `context ${CONTEXT} is not known`),
    'deleted',
    undefined,
  ],
  ['no such route', 404, error('NOT_FOUND'), 'unsupported', /neo answers HTTP 404.*upgrade it/],
  ['a page', 404, '<html>', 'unsupported', /HTTP 404/],
  ['no such method', 405, '', 'unsupported', /HTTP 405/],
  ['no such method here', 501, '', 'unsupported', /HTTP 501/],
  ['a page for everything', 200, '<html>', 'unsupported', /HTTP 200/],
  ['another context', 200, JSON.stringify({ context_id: 'other' }), 'unsupported', /HTTP 200/],
  ['a redirect', 302, '', 'unsupported', /HTTP 302/],
  ['unfinished tasks', 409, error('CONTEXT_IN_USE'), 'pending', /unfinished tasks/],
  ['a shared context', 409, error('CONTEXT_SHARED'), 'refused', /another caller/],
  ['a wrong token', 401, error('UNAUTHENTICATED'), 'refused', /token.*fleet\.agents\.neo/],
  ['a missing scope', 403, error('FORBIDDEN'), 'refused', /scope dispatch/],
  ['another refusal', 400, error('INVALID_PARAMS'), 'refused', /HTTP 400, INVALID_PARAMS/],
  ['a long code', 400, error('X'.repeat(41)), 'refused', /\(HTTP 400\)$/],
  ['too many requests', 429, '', 'pending', /HTTP 429/],
  ['a stop', 503, error('SHUTTING_DOWN'), 'pending', /HTTP 503/],
  ['a defect', 500, '', 'pending', /HTTP 500/],
  ['an endless answer', 200, 'x'.repeat(5_000_000), 'pending', /FleetError|PEER_REFUSED/],
];
for (const [what, status, body, state, detail] of CASES)
  test(`a peer that answers with ${what} is ${state}`, async (t) => {
    const { ask, requests } = await peer(t, status, body, status === 302 ? { location: '/elsewhere' } : {});
    const outcome = await ask();
    assert.equal(outcome.state, state);
    if (detail) assert.match(outcome.detail ?? '', detail);
    else assert.equal(outcome.detail, undefined);
    assert.doesNotMatch(outcome.detail ?? '', /TEXT OF THE PEER/);
    const path = `/behind/fleet/contexts/${encodeURIComponent(CONTEXT)}?results=keep`;
    assert.deepEqual(requests, [`DELETE ${path} Bearer tok`]);
  });

for (const contextId of ['', '.', '..', 'c\ud800'])
  test(`a peer is not asked for the context ${JSON.stringify(contextId)}, which no URL can name`, async (t) => {
    const { ask, requests } = await peer(t, 200, JSON.stringify({ context_id: contextId }));
    const { state, detail } = await ask(contextId);
    assert.equal(state, 'unsupported');
    assert.match(detail ?? '', /^neo cannot be asked: the context's ID is .*have its operator/);
    assert.deepEqual(requests, []);
  });

test('a context of dots and more is asked for by its whole ID', async (t) => {
  const { ask, requests } = await peer(t, 405, '');
  for (const contextId of ['...', './..', '.a']) await ask(contextId);
  const path = '/behind/fleet/contexts';
  assert.deepEqual(
    requests,
    ['...', '.%2F..', '.a'].map((id) => `DELETE ${path}/${id}?results=keep Bearer tok`),
  );
});

test('a peer that does not answer is pending, within the time limit', async (t) => {
  const server = createServer(() => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  t.after(() => server.closeAllConnections());
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  const ask = (port: number) =>
    deleteAtPeer({
      fetch,
      endpoint: { name: 'neo', url: `http://127.0.0.1:${port}/` },
      contextId: 'c',
      results: 'keep',
      timeoutMs: 50,
      signal: never,
    });
  assert.deepEqual(await ask(address.port), {
    state: 'pending',
    detail: 'neo does not answer (TimeoutError)',
  });
  assert.match((await ask(await freePort())).detail ?? '', /ECONNREFUSED|TimeoutError/);
});

test('an aborted signal ends the request with its reason', async (t) => {
  const { endpoint } = await peer(t, 200, '');
  const reason = new FleetError('SHUTTING_DOWN', 'stopping');
  const signal = AbortSignal.abort(reason);
  const work = deleteAtPeer({ endpoint, contextId: 'c', results: 'keep', timeoutMs: 10_000, fetch, signal });
  assert.equal(await fleetErrorOf(work), reason);
});

test('an agent of A2A 0.3 is not asked', async (t) => {
  const { endpoint, requests } = await peer(t, 200, '');
  const old = { ...endpoint, version: '0.3' } as const;
  const asked = {
    endpoint: old,
    contextId: 'c',
    results: 'keep',
    timeoutMs: 10_000,
    fetch,
    signal: never,
  } as const;
  assert.equal((await deleteAtPeer(asked)).state, 'unsupported');
  assert.deepEqual(requests, []);
});
