import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import type { Caller } from '@hermes-fleet/protocol/ports';
import { startApp } from '../../testing/start-app.ts';
import { createAuthenticator } from '../auth.ts';

const digest = (text: string): string => hash('sha256', text);
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

test('a caller that comes and goes is known by the hash of its token, and never instead of a configured one', () => {
  const asked: string[] = [];
  const worker: Caller = { name: 'worker-7', scopes: new Set(['join']) };
  const authenticate = createAuthenticator(
    [{ name: 'neo', scopes: [], secret: 'token-of-neo' }],
    (hashed) => {
      asked.push(hashed);
      if (hashed === digest('expired')) throw new FleetError('UNAUTHENTICATED', 'this join token expired');
      return hashed === digest('token-of-worker-7') || hashed === digest('token-of-neo') ? worker : undefined;
    },
  );
  assert.equal(authenticate('Bearer token-of-worker-7'), worker);
  assert.deepEqual(asked, [digest('token-of-worker-7')]);
  assert.equal(authenticate('Bearer token-of-neo').name, 'neo');
  assert.equal(asked.length, 1);
  assert.throws(() => authenticate('Bearer expired'), {
    code: 'UNAUTHENTICATED',
    message: 'this join token expired',
  });
  assert.throws(() => authenticate('Bearer other'), {
    code: 'UNAUTHENTICATED',
    message: /not accepted here/,
  });
});

test('when a caller is none any more, its open requests are cut off, and those of others go on', async (t) => {
  const ended = new AbortController();
  const callers = new Map<string, Caller>([
    [digest('one'), { name: 'one', scopes: new Set(), ended: ended.signal }],
    [digest('two'), { name: 'two', scopes: new Set(), ended: new AbortController().signal }],
  ]);
  let open = 0;
  const { promise: bothOpen, resolve } = Promise.withResolvers<void>();
  const { promise: finish, resolve: letFinish } = Promise.withResolvers<void>();
  const { url } = await startApp(t, {
    authenticate: createAuthenticator([], (hashed) => callers.get(hashed)),
    routes: (app) => {
      app.get('/stream', async (_request, reply) => {
        reply.hijack();
        reply.raw.writeHead(200).write('begun\n');
        open += 1;
        if (open === 2) resolve();
        await finish;
        reply.raw.end('ended\n');
      });
      app.get('/quick', async () => ({ ok: true }));
    },
  });
  const [first, second] = await Promise.all(
    ['one', 'two'].map((token) => fetch(`${url}/stream`, { headers: bearer(token) })),
  );
  await bothOpen;
  assert.equal((await fetch(`${url}/quick`, { headers: bearer('one') })).status, 200);
  callers.delete(digest('one'));
  ended.abort(new FleetError('PEER_UNREACHABLE', 'revoked'));
  await assert.rejects(first?.text() ?? Promise.resolve());
  assert.equal((await fetch(`${url}/quick`, { headers: bearer('one') })).status, 401);
  letFinish();
  assert.equal(await second?.text(), 'begun\nended\n');
});
