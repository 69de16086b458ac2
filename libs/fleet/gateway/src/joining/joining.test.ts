import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  joiningApp,
  listener,
  OPERATOR,
  presented,
  READER,
  request,
  TOKEN_TO_WORKER,
} from '../../testing/joining-app.ts';

const MINUTE = 60_000;

describe('joining with a join token', () => {
  it('tells what the token offers, lets the worker join, and knows it over a restart', async (t) => {
    const app = await joiningApp(t);
    const { endpoint, seen } = await listener(t);
    const { token } = await app.create({ name: 'worker-*', tier: 'opus' });
    const offer = await app.ask('GET', '/fleet/join', token);
    assert.equal(offer.status, 200);
    assert.deepEqual(
      [offer.body.orchestrator, offer.body.name, offer.body.tier, offer.body.tiers, offer.body.scopes],
      ['switch', 'worker-*', 'opus', ['haiku', 'sonnet', 'opus'], ['announce', 'join']],
    );
    const joined = await app.ask('POST', '/fleet/join', token, request('worker-7', endpoint));
    assert.equal(joined.status, 200, JSON.stringify(joined.body));
    const membership = {
      name: 'worker-7',
      orchestrator: 'switch',
      state: 'joined',
      peer: 'silent',
      tasks: 0,
    };
    assert.deepEqual(joined.body, membership);
    assert.deepEqual(seen, ['POST /fleet/join-challenge'], 'its token is not sent');
    assert.equal(app.peers().get('worker-7')?.endpoint?.token, TOKEN_TO_WORKER);
    await app.restart();
    assert.deepEqual((await app.ask('GET', '/fleet/membership', presented('worker-7'))).body, membership);
    assert.equal(app.peers().get('worker-7')?.endpoint?.url, `${endpoint}/jsonrpc`);
  });

  it('answers the same request again as before, and no other one', async (t) => {
    const app = await joiningApp(t);
    const { endpoint, seen } = await listener(t);
    const { token } = await app.create();
    const ask = () => app.ask('POST', '/fleet/join', token, request('worker-7', endpoint));
    assert.deepEqual((await ask()).body, (await ask()).body);
    await app.restart();
    assert.equal((await ask()).status, 200);
    assert.equal(seen.length, 1);
    const other = await app.ask('POST', '/fleet/join', token, request('worker-8', endpoint));
    assert.deepEqual([other.status, other.body.error.code], [401, 'UNAUTHENTICATED']);
    assert.match(other.body.error.message, /was used by worker-7 already, and joins once only/);
    assert.match((await app.ask('GET', '/fleet/join', token)).body.error.message, /was used by worker-7/);
    assert.equal((await app.workers()).length, 1);
  });

  it('of two workers at the same time, lets one join', async (t) => {
    const app = await joiningApp(t);
    const listeners = [await listener(t), await listener(t)];
    const { token } = await app.create();
    const ends = await Promise.all(
      listeners.map(({ endpoint }, at) =>
        app.ask('POST', '/fleet/join', token, request(`worker-${at}`, endpoint)),
      ),
    );
    assert.deepEqual(ends.map(({ status }) => status).sort(), [200, 401]);
    assert.equal((await app.workers()).length, 1);
  });

  it('refuses a worker more than it can route to, before it stores anything', async (t) => {
    const app = await joiningApp(t, {}, { maxWorkers: 1 });
    const { endpoint, seen } = await listener(t);
    const [first, second] = [await app.create(), await app.create()];
    assert.equal(
      (await app.ask('POST', '/fleet/join', first.token, request('worker-1', endpoint))).status,
      200,
    );
    const other = await listener(t);
    const refused = await app.ask('POST', '/fleet/join', second.token, request('worker-2', other.endpoint));
    assert.deepEqual([refused.status, refused.body.error.code], [503, 'CAPACITY']);
    assert.match(refused.body.error.message, /1 workers have joined switch, the most allowed/);
    assert.deepEqual([seen.length, other.seen.length, (await app.workers()).length], [1, 0, 1]);
    await app.ask('POST', '/fleet/workers/worker-1/revoke', OPERATOR);
    assert.equal((await app.ask('DELETE', '/fleet/workers/worker-1', OPERATOR)).status, 200);
    assert.equal(
      (await app.ask('POST', '/fleet/join', second.token, request('worker-2', other.endpoint))).status,
      200,
    );
  });

  it('refuses a token that is expired, revoked or unknown, each with its reason', async (t) => {
    const app = await joiningApp(t);
    const { endpoint, seen } = await listener(t);
    const { token: expired } = await app.create({ expires_s: 60 });
    const { token: revoked, id } = await app.create({ expires_s: 3_600 });
    assert.equal((await app.ask('DELETE', `/fleet/join-tokens/${id}`, OPERATOR)).status, 200);
    app.clock.advance(MINUTE);
    const rows: [token: string, reason: RegExp][] = [
      [expired, /this join token expired at 2026-01-01T00:01/],
      [revoked, /this join token was revoked/],
      ['hfj_unknown', /this token is not accepted here/],
    ];
    for (const [token, reason] of rows)
      for (const [method, body] of [
        ['GET', undefined],
        ['POST', request('worker-7', endpoint)],
      ] as const) {
        const refused = await app.ask(method, '/fleet/join', token, body);
        assert.equal(refused.status, 401);
        assert.match(refused.body.error.message, reason);
      }
    assert.deepEqual([seen, await app.workers()], [[], []]);
    const again = await app.ask('DELETE', `/fleet/join-tokens/${id}`, OPERATOR);
    assert.deepEqual(
      [again.status, again.body.error.message],
      [404, 'this join token was revoked: ask for another one'],
    );
  });

  it('refuses names and addresses that are not for this token, and asks nobody', async (t) => {
    const app = await joiningApp(t);
    const { endpoint, seen } = await listener(t);
    const { token } = await app.create({ name: 'w*' });
    const { token: any } = await app.create();
    const rows: [token: string, name: string, endpoint: string, reason: RegExp][] = [
      [token, 'tank', endpoint, /is for the name w\*, not for tank/],
      [any, 'neo', endpoint, /neo is the name of a configured peer/],
      [any, 'morpheus', endpoint, /morpheus is the name of a configured caller/],
      [any, 'switch', endpoint, /switch is the name of this profile/],
      [any, 'auto', endpoint, /not for auto/],
      [any, 'Upper', endpoint, /not for Upper/],
      [any, '../x', endpoint, /not for/],
      [any, 'worker-7', 'http://10.0.0.1:80', /may not join with http:\/\/10\.0\.0\.1:80/],
      [any, 'worker-7', 'http://169.254.169.254/latest', /may not join/],
      [any, 'worker-7', 'file:///etc/passwd', /may not join/],
      [any, 'worker-7', endpoint.replace('http://', 'http://user@'), /may not join/],
      [any, 'worker-7', `${endpoint}/elsewhere`, /may not join/],
      [any, 'worker-7', 'http://127.0.0.1:9220', /that is where neo is/],
      [any, 'worker-7', 'http://127.0.0.1:9219', /that is where switch is/],
    ];
    for (const [by, name, at, reason] of rows) {
      const refused = await app.ask('POST', '/fleet/join', by, request(name, at));
      assert.equal(refused.status, 403, `${name} at ${at}`);
      assert.match(refused.body.error.message, reason);
    }
    assert.deepEqual([seen, await app.workers()], [[], []]);
    assert.equal((await app.ask('POST', '/fleet/join', any, request('worker-7', endpoint))).status, 200);
    const taken = await app.ask('POST', '/fleet/join', token, request('worker-7', endpoint));
    assert.match(taken.body.error.message, /a worker named worker-7 has joined already/);
    const beside = await app.ask('POST', '/fleet/join', token, request('worker-8', endpoint));
    assert.match(beside.body.error.message, /that is where worker-7 is/);
  });

  it('names the fault of the way back, and stores nothing', async (t) => {
    const app = await joiningApp(t);
    const { token } = await app.create();
    const closed = await listener(t, () => undefined);
    const nobody = await listener(t);
    await nobody.close();
    const rows: [what: string, endpoint: string, reason: RegExp][] = [
      ['nobody', nobody.endpoint, /connection refused/],
      [
        'another proof',
        (await listener(t, () => ({ body: '{"proof":"x"}' }))).endpoint,
        /somebody else listens there/,
      ],
      ['no JSON', (await listener(t, () => ({ body: 'hello' }))).endpoint, /somebody else listens there/],
      ['a long answer', (await listener(t, () => ({ body: 'x'.repeat(100_000) }))).endpoint, /somebody else/],
      ['a web server', (await listener(t, () => ({ status: 404, body: '{}' }))).endpoint, /HTTP 404/],
      [
        'a redirect',
        (await listener(t, () => ({ status: 302, body: '', location: closed.endpoint }))).endpoint,
        /HTTP 302/,
      ],
      ['silence', closed.endpoint, /no answer within 5 s/],
    ];
    for (const [what, endpoint, reason] of rows) {
      const refused = await app.ask('POST', '/fleet/join', token, request('worker-7', endpoint));
      assert.deepEqual([refused.status, refused.body.error.code], [502, 'PEER_UNREACHABLE'], what);
      assert.match(refused.body.error.message, reason, what);
    }
    assert.deepEqual(closed.seen, ['POST /fleet/join-challenge'], 'no redirect is followed');
    assert.deepEqual(await app.workers(), []);
    const { endpoint } = await listener(t);
    assert.equal((await app.ask('POST', '/fleet/join', token, request('worker-7', endpoint))).status, 200);
  });

  it('refuses garbage at every route', async (t) => {
    const app = await joiningApp(t);
    const { endpoint } = await listener(t);
    const { token } = await app.create();
    const good = request('worker-7', endpoint);
    for (const body of [
      'no json',
      '[]',
      '{}',
      { ...good, token: 'short' },
      { ...good, token: `sha256:${'0'.repeat(64)}` },
      { ...good, token_digest: 'x' },
      { ...good, more: 1 },
      { ...good, name: 7 },
      'x'.repeat(100_000),
    ]) {
      const { status } = await app.ask('POST', '/fleet/join', token, body);
      assert.ok(status === 400 || status === 413, `${JSON.stringify(body).slice(0, 80)} gets ${status}`);
    }
    for (const body of [
      { expires_s: 1 },
      { expires_s: 86_401 },
      { expires_s: '15m' },
      { name: 'A b' },
      { name: 'neo' },
      { tier: 'gold' },
      { scopes: ['operate'] },
      { scopes: [] },
      { endpoints: ['ftp://x'] },
      { more: 1 },
      [],
    ]) {
      const { status } = await app.ask('POST', '/fleet/join-tokens', OPERATOR, body);
      assert.equal(status, 400, JSON.stringify(body));
    }
    assert.deepEqual(await app.workers(), []);
  });

  it('needs an address for the worker, of the token or of fleet.join.endpoints', async (t) => {
    const app = await joiningApp(t, { join: undefined });
    const refused = await app.ask('POST', '/fleet/join-tokens', OPERATOR, {});
    assert.deepEqual([refused.status, refused.body.error.fields[0].path], [400, 'endpoints']);
    const { endpoint } = await listener(t);
    const { token } = await app.create({ endpoints: [endpoint] });
    assert.equal((await app.ask('POST', '/fleet/join', token, request('worker-7', endpoint))).status, 200);
  });

  it('lets each caller do what its scopes say, and nothing else', async (t) => {
    const app = await joiningApp(t);
    const { endpoint } = await listener(t);
    const { token } = await app.create();
    const { token: open } = await app.create();
    await app.ask('POST', '/fleet/join', token, request('worker-7', endpoint));
    const routes = [
      ['GET', '/fleet/join'],
      ['POST', '/fleet/join'],
      ['GET', '/fleet/membership'],
      ['GET', '/fleet/membership/check'],
      ['POST', '/fleet/membership/leave'],
      ['POST', '/fleet/join-tokens'],
      ['GET', '/fleet/join-tokens'],
      ['DELETE', '/fleet/join-tokens/x'],
      ['GET', '/fleet/workers'],
      ['DELETE', '/fleet/workers/x'],
    ] as const;
    for (const [method, path] of routes) {
      const status = async (by: string): Promise<number> => (await app.ask(method, path, by)).status;
      assert.equal(await status('nobody-knows-this-token'), 401, path);
      const isMembership = path.startsWith('/fleet/membership');
      assert.equal(await status(READER), isMembership ? 404 : 403, `${method} ${path}`);
      if (path !== '/fleet/join')
        assert.equal(await status(open), isMembership ? 404 : 403, `${method} ${path}`);
      if (!isMembership) assert.equal(await status(presented('worker-7')), 403, `${method} ${path}`);
    }
  });
});
