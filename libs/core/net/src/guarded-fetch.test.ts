import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { describe, it } from 'node:test';
import { fleetErrorOf } from '@hermes-fleet/protocol/testing';
import { base, to } from '../testing/fetching.ts';
import { startServer } from '../testing/server.ts';
import type { Resolve } from './destination.ts';
import { guardedFetch } from './guarded-fetch.ts';

describe('guardedFetch: rejected requests', () => {
  const urls: [url: string, code: string, message: RegExp][] = [
    ['nonsense', 'INVALID_PARAMS', /is not a url/],
    ['http://', 'INVALID_PARAMS', /is not a url/],
    [`http://example.com/${'x'.repeat(9000)}`, 'INVALID_PARAMS', /is not a url/],
    ['http://1.2.3.4.5/', 'INVALID_PARAMS', /is not a url/],
    ['http://[fe80::1%25eth0]/', 'INVALID_PARAMS', /is not a url/],
    ['file:///etc/passwd', 'INVALID_PARAMS', /only http and https/],
    ['ftp://example.com/', 'INVALID_PARAMS', /only http and https/],
    ['data:text/plain,x', 'INVALID_PARAMS', /only http and https/],
    ['http://user:secret@example.com/', 'INVALID_PARAMS', /holds credentials/],
    ['https://token@example.com/', 'INVALID_PARAMS', /holds credentials/],
    ...[
      ...[
        'http://127.0.0.1/',
        'http://127.0.0.1./',
        'http://127.1/',
        'http://2130706433/',
        'http://0x7f.0.0.1/',
      ],
      ...['http://0177.0.0.1/', 'http://0x7f000001:8080/', 'http://0/', 'http://10.1.2.3/', 'http://[::1]/'],
      ...[
        'http://[::ffff:127.0.0.1]/',
        'http://[::ffff:7f00:1]/',
        'http://[64:ff9b::7f00:1]/',
        'http://[::]/',
      ],
      ...['http://[::127.0.0.1]/', 'http://[2002:7f00:1::]/', 'http://169.254.169.254/latest/meta-data/'],
      ...[
        'http://①②⑦.0.0.1/',
        'http://localhost/',
        'http://localhost./',
        'http://LOCALHOST:1/',
        'http://foo.localhost/',
        'http://a.foo.localhost./',
      ],
    ].map((url): [string, string, RegExp] => [url, 'FORBIDDEN', /has no public address$/]),
  ];
  for (const [url, code, message] of urls) {
    it(`${url.slice(0, 50)}: ${code}, without a look-up`, async () => {
      const resolve = () => assert.fail('a resolver was asked');
      const error = await fleetErrorOf(guardedFetch(url, { ...base(), resolve }));
      assert.equal(error.code, code);
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /secret|token/);
    });
  }

  it('an internal name, a partly internal name and a missing name give the same error', async () => {
    const gone = Object.assign(new Error('gone'), { code: 'ENOTFOUND' });
    const answers: Resolve[] = [
      to('10.0.0.7'),
      to('::1'),
      async () => [
        { address: '8.8.8.8', family: 4 },
        { address: '192.168.1.1', family: 4 },
      ],
      async () => [],
      async () => [{ address: 'nonsense', family: 4 }],
      async () => {
        throw gone;
      },
    ];
    for (const resolve of answers) {
      const error = await fleetErrorOf(guardedFetch('http://intern.example/x', { ...base(), resolve }));
      assert.deepEqual([error.code, error.message], ['FORBIDDEN', '"intern.example" has no public address']);
    }
  });

  it('a temporary lookup failure is retryable', async () => {
    const resolve = async () => {
      throw Object.assign(new Error('later'), { code: 'EAI_AGAIN' });
    };
    const error = await fleetErrorOf(guardedFetch('http://a.example/', { ...base(), resolve }));
    assert.deepEqual([error.code, error.retryable], ['PEER_UNREACHABLE', true]);
  });

  it('a header outside the allowed ones is rejected', async () => {
    for (const name of ['cookie', 'Host', 'x-forwarded-for', 'metadata-flavor', 'connection']) {
      const error = await fleetErrorOf(
        guardedFetch('http://a.example/', { ...base(), headers: { [name]: 'x' } }),
      );
      assert.equal(error.code, 'INVALID_PARAMS');
    }
  });

  it('a header value that cannot be sent is rejected, and not shown', async () => {
    const headers = { authorization: 'Bearer secret\n' };
    const error = await fleetErrorOf(guardedFetch('http://a.example/', { ...base(), headers }));
    assert.equal(error.code, 'INVALID_PARAMS');
    assert.match(error.message, /^the value of the header "authorization" has a character/);
  });
});

describe('guardedFetch: allowed internal hosts', () => {
  const cases: [entry: (port: number) => string, allowed: boolean][] = [
    [() => 'a.test', true],
    [() => 'A.Test', true],
    [(port) => `a.test:${port}`, true],
    [(port) => `a.test:${port + 1}`, false],
    [() => 'b.test', false],
    [() => 'test', false],
    [() => '*.test', false],
    [() => '', false],
    [() => 'a.test/x', false],
  ];
  for (const [entry, allowed] of cases) {
    it(`"${entry(1)}" ${allowed ? 'allows' : 'does not allow'} a.test`, async (t) => {
      const { port } = await startServer(t, (_request, response) => response.end('hello'));
      const options = { ...base(), resolve: to('127.0.0.1'), allowInternal: [entry(port)] };
      const fetched = guardedFetch(`http://a.test:${port}/`, options);
      if (allowed) assert.equal(await (await fetched).response.text(), 'hello');
      else assert.equal((await fleetErrorOf(fetched)).code, 'FORBIDDEN');
    });
  }

  it('an entry may be a localhost name, which is then looked up', async (t) => {
    const { port } = await startServer(t, (_request, response) => response.end('local'));
    const options = { ...base(), resolve: to('127.0.0.1'), allowInternal: ['a.localhost'] };
    const { response } = await guardedFetch(`http://a.localhost:${port}/`, options);
    assert.equal(await response.text(), 'local');
    assert.equal((await fleetErrorOf(guardedFetch('http://localhost/', options))).code, 'FORBIDDEN');
  });

  it('an entry may be an address, have brackets and name the default port', async (t) => {
    const { port } = await startServer(t, (_request, response) => response.end('6'), '::1').catch(() => ({
      port: 0,
    }));
    if (port === 0) return t.skip('this machine has no IPv6 loopback');
    const { response } = await guardedFetch(`http://[::1]:${port}/`, {
      ...base(),
      allowInternal: [`[::1]:${port}`],
    });
    assert.equal(await response.text(), '6');
    const defaultPort = guardedFetch('http://127.0.0.1/', { ...base(), allowInternal: ['127.0.0.1:80'] });
    // The port may be closed; the request is allowed in any case.
    await defaultPort.then(
      (fetched) => fetched.response.body?.cancel(),
      (error) => assert.notEqual(error.code, 'FORBIDDEN'),
    );
  });
});

describe('guardedFetch: the connection', () => {
  it('goes to the checked address, even if the name resolves to another one later', async (t) => {
    const checked = await startServer(t, (_request, response) => response.end('checked'));
    let asked = 0;
    const resolve: Resolve = async () => {
      asked += 1;
      return [{ address: asked === 1 ? '127.0.0.1' : '127.0.0.9', family: 4 }];
    };
    const options = { ...base(), resolve, allowInternal: ['a.test'] };
    const { response, url } = await guardedFetch(`http://a.test:${checked.port}/p?q=1#part`, options);
    assert.equal(await response.text(), 'checked');
    assert.deepEqual([asked, url], [1, `http://a.test:${checked.port}/p?q=1#part`]);
    assert.equal(checked.requests[0]?.headers.host, `a.test:${checked.port}`);
    assert.equal(checked.requests[0]?.url, '/p?q=1');
  });

  it('fails with the name of a host that refuses it', async () => {
    const options = { ...base(), resolve: to('127.0.0.1'), allowInternal: ['a.test'] };
    const closed = await freePort();
    const error = await fleetErrorOf(guardedFetch(`http://a.test:${closed}/`, options));
    assert.deepEqual(
      [error.code, error.message],
      ['PEER_UNREACHABLE', `"a.test:${closed}" cannot be reached: ECONNREFUSED`],
    );
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  await new Promise((resolve) => server.close(resolve));
  return address.port;
}

describe('guardedFetch: redirects', () => {
  it('five are followed, a sixth is an error', async (t) => {
    const { port, requests } = await startServer(t, (request, response) => {
      const left = Number(request.url?.slice(1));
      if (left === 0) response.end('there');
      else response.writeHead(301, { location: `/${left - 1}` }).end();
    });
    const options = { ...base(), resolve: to('127.0.0.1'), allowInternal: ['a.test'] };
    const { response, url } = await guardedFetch(`http://a.test:${port}/5`, options);
    assert.deepEqual([await response.text(), url], ['there', `http://a.test:${port}/0`]);
    requests.length = 0;
    const error = await fleetErrorOf(guardedFetch(`http://a.test:${port}/6`, options));
    assert.match(error.message, /redirects too often/);
    assert.equal(requests.length, 6);
  });

  const refused: [location: string, message: RegExp][] = [
    ['http://127.0.0.1/', /"127\.0\.0\.1" has no public address/],
    ['//[::1]/', /has no public address/],
    ['http://169.254.169.254/latest/meta-data/', /has no public address/],
    ['http://inside.test/', /"inside\.test" has no public address/],
    ['http://me:secret@a.test/', /holds credentials/],
    ['file:///etc/passwd', /only http and https/],
    ['javascript:alert(1)', /only http and https/],
    ['http://', /is not a url/],
  ];
  for (const [location, message] of refused) {
    it(`to ${location} are rejected`, async (t) => {
      const { port } = await startServer(t, (_request, response) =>
        response.writeHead(302, { location }).end(),
      );
      const options = { ...base(), resolve: to('127.0.0.1'), allowInternal: [`a.test:${port}`] };
      assert.match((await fleetErrorOf(guardedFetch(`http://a.test:${port}/`, options))).message, message);
    });
  }

  it('do not carry a token to another origin', async (t) => {
    const other = await startServer(t, (_request, response) => response.end('other'));
    const first = await startServer(t, (request, response) => {
      const location = request.url === '/same' ? '/away' : `http://b.test:${other.port}/`;
      response.writeHead(307, { location }).end();
    });
    const options = {
      ...base(),
      resolve: to('127.0.0.1'),
      allowInternal: ['a.test', 'b.test'],
      headers: { Authorization: 'Bearer secret', accept: 'text/plain' },
    };
    const { response } = await guardedFetch(`http://a.test:${first.port}/same`, options);
    assert.equal(await response.text(), 'other');
    assert.deepEqual(
      first.requests.map(({ headers }) => headers.authorization),
      ['Bearer secret', 'Bearer secret'],
    );
    assert.deepEqual(
      [other.requests[0]?.headers.authorization, other.requests[0]?.headers.accept],
      [undefined, 'text/plain'],
    );
  });

  it('of a POST are not followed', async (t) => {
    const { port, requests } = await startServer(t, (_request, response) =>
      response.writeHead(307, { location: '/elsewhere' }).end(),
    );
    const options = { ...base(), resolve: to('127.0.0.1'), allowInternal: ['a.test'] };
    const { response } = await guardedFetch(`http://a.test:${port}/`, {
      ...options,
      method: 'POST',
      body: '{}',
    });
    assert.deepEqual([response.status, requests.length, requests[0]?.method], [307, 1, 'POST']);
    await response.body?.cancel();
  });
});
