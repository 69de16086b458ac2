import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { deadline, manualClock } from '@hermes-fleet/protocol/testing';
import { LOGIN_SECRET, startTestConsole, type TestConsole } from '../testing/console.ts';

/** The reply to a request whose headers are exactly these; fetch would not send a foreign Host. */
function raw(url: string, head: string): Promise<string> {
  const { port } = new URL(url);
  return new Promise((resolve, reject) => {
    let reply = '';
    const socket = connect(Number(port), '127.0.0.1', () =>
      socket.write(`${head}\r\nConnection: close\r\n\r\n`),
    );
    socket.setEncoding('utf8').on('data', (text) => {
      reply += text;
    });
    socket.on('error', reject).on('close', () => resolve(reply));
  });
}

const login = (fleet: TestConsole, code: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${fleet.url}/login?code=${code}`, { redirect: 'manual', ...init });

test('a code opens one session, and its cookie is for this site and for no script', deadline, async (t) => {
  const fleet = await startTestConsole(t);
  const code = await fleet.newCode();
  assert.equal((await login(fleet, code, { method: 'HEAD' })).status, 405);
  const opened = await login(fleet, code);
  assert.deepEqual([opened.status, opened.headers.get('location')], [303, '/']);
  const cookie = opened.headers.get('set-cookie') ?? '';
  assert.match(cookie, /^fleet_console=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/$/);
  for (const used of [code, 'x', '', `${code}x`]) {
    const refused = await login(fleet, used);
    assert.deepEqual([refused.status, refused.headers.get('set-cookie')], [403, null]);
    assert.match(await refused.text(), /<pre>fleet console<\/pre>/);
  }
});

test('a code ends after five minutes and a session after twelve hours without use', deadline, async (t) => {
  const clock = manualClock();
  const fleet = await startTestConsole(t, { clock });
  const [late, code] = [await fleet.newCode(), await fleet.newCode()];
  const browser = await fleet.signIn();
  clock.advance(5 * 60_000 - 1);
  assert.equal((await login(fleet, code)).status, 303);
  clock.advance(1);
  assert.equal((await login(fleet, late)).status, 403);
  clock.advance(11 * 3_600_000);
  assert.equal((await browser.get('/api/session')).status, 200);
  clock.advance(12 * 3_600_000 - 1);
  assert.equal((await browser.get('/api/session')).status, 200, 'each use begins the time anew');
  clock.advance(12 * 3_600_000);
  assert.equal((await browser.get('/api/session')).status, 401);
});

test('codes and sessions are bounded: the oldest give way', deadline, async (t) => {
  const fleet = await startTestConsole(t);
  const codes = [];
  for (let made = 0; made < 21; made += 1) codes.push(await fleet.newCode());
  assert.equal((await login(fleet, codes[0] ?? '')).status, 403);
  assert.equal((await login(fleet, codes[1] ?? '')).status, 303);
  const first = await fleet.signIn();
  for (let opened = 0; opened < 50; opened += 1) await fleet.signIn();
  assert.equal((await first.get('/api/session')).status, 401);
});

test('only the secret of the console makes a code or a rebuild', deadline, async (t) => {
  const fleet = await startTestConsole(t);
  const { cookie } = await fleet.signIn();
  const wrong = [
    {},
    { authorization: `Bearer ${LOGIN_SECRET}x` },
    { authorization: `Basic ${LOGIN_SECRET}` },
    { cookie },
  ];
  for (const path of ['/api/codes', '/api/rebuild'])
    for (const headers of wrong)
      assert.equal((await fetch(`${fleet.url}${path}`, { method: 'POST', headers })).status, 401, path);
});

test(
  'a request that changes something needs the CSRF token and the exact origin of the console',
  deadline,
  async (t) => {
    const fleet = await startTestConsole(t);
    const { cookie, json } = await fleet.signIn();
    const { csrf_token: csrf } = await json<{ csrf_token: string }>('/api/session');
    const good = { cookie, origin: fleet.url, 'x-csrf-token': csrf };
    const { port } = new URL(fleet.url);
    const bad: [string, Record<string, string>][] = [
      ['no token', { cookie, origin: fleet.url }],
      ['a wrong token', { ...good, 'x-csrf-token': `${csrf}x` }],
      ['no origin', { cookie, 'x-csrf-token': csrf }],
      ['the origin of another site', { ...good, origin: 'https://evil.example' }],
      ['the origin of another port', { ...good, origin: 'http://127.0.0.1:1' }],
      ['another name of the same host', { ...good, origin: `http://localhost:${port}` }],
      ['an opaque origin', { ...good, origin: 'null' }],
      ['a page of another site', { ...good, 'sec-fetch-site': 'same-site' }],
    ];
    for (const [what, headers] of bad)
      assert.equal(
        (await fetch(`${fleet.url}/api/session`, { method: 'DELETE', headers })).status,
        403,
        what,
      );
    const twice = { ...good, cookie: `${cookie}; fleet_console=other` };
    assert.equal((await fetch(`${fleet.url}/api/session`, { method: 'DELETE', headers: twice })).status, 401);
    assert.equal((await fetch(`${fleet.url}/api/session`, { method: 'DELETE', headers: good })).status, 204);
    assert.equal((await fetch(`${fleet.url}/api/session`, { headers: { cookie } })).status, 401);
  },
);

test(
  'a name that was rebound to this address reaches nothing, and a foreign page reads nothing',
  deadline,
  async (t) => {
    const fleet = await startTestConsole(t);
    const { cookie, get } = await fleet.signIn();
    const code = await fleet.newCode();
    for (const path of ['/', '/api/tasks', `/login?code=${code}`, '/metrics']) {
      const reply = await raw(fleet.url, `GET ${path} HTTP/1.1\r\nHost: evil.example\r\nCookie: ${cookie}`);
      assert.match(reply, /^HTTP\/1.1 403 /, path);
    }
    assert.equal((await login(fleet, code)).status, 303, 'the code is still there');
    for (const site of ['cross-site', 'same-site'])
      assert.equal((await get('/api/tasks', { 'sec-fetch-site': site })).status, 403);
    assert.equal((await get('/api/tasks', { 'sec-fetch-site': 'same-origin' })).status, 200);
  },
);

test(
  'no path leaves the files of the page, and every reply has the headers that keep it a page',
  deadline,
  async (t) => {
    const fleet = await startTestConsole(t);
    const paths = [
      '/assets/../package.json',
      '/%2e%2e/%2e%2e/etc/passwd',
      '/vendor/..%2f..%2fpackage.json',
      '//etc/passwd',
    ];
    for (const path of paths) {
      const reply = await raw(fleet.url, `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1`);
      assert.match(reply, /^HTTP\/1.1 40[0-9] /, path);
    }
    const page = await fetch(`${fleet.url}/`);
    const headers = [
      'content-security-policy',
      'x-content-type-options',
      'referrer-policy',
      'etag',
      'cache-control',
    ];
    assert.deepEqual(
      headers.map((name) => page.headers.get(name)),
      ["default-src 'none'", 'nosniff', 'no-referrer', '"page-1"', 'no-cache'],
    );
    const again = await fetch(`${fleet.url}/`, { headers: { 'if-none-match': '"page-1"' } });
    assert.deepEqual([again.status, await again.text()], [304, '']);
    assert.equal((await fetch(`${fleet.url}/api/tasks`)).headers.get('cache-control'), 'no-store');
  },
);
