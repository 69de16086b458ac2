import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { fleet, keysFolder } from '../../testing/profile-stub.ts';
import { openInBrowser } from './console.ts';

const CODE = { code: 'abc', path: '/login?code=abc', expires_at: '2030-01-01T00:05:00.000Z' };

/** A console with scripted answers at the address of the fleet in `dir`, and its requests. */
async function consoleStub(t: TestContext, answers: Readonly<Record<string, unknown>>, status = 201) {
  const { dir } = keysFolder(t);
  const login = readFileSync(join(dir, 'keys/console/CONSOLE_LOGIN'), 'utf8');
  const asked: string[] = [];
  const server = createServer((request, reply) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    reply.writeHead(status, { 'content-type': 'application/json' });
    reply.end(JSON.stringify(answers[request.url ?? ''] ?? {}));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const command = (...args: string[]) =>
    fleet(['console', '--dir', dir, '--port-offset', String(port - 9224), ...args]);
  return { dir, login, asked, port, command };
}

test('fleet console prints a link with a code that it gets by CONSOLE_LOGIN of the keys', async (t) => {
  const { command, port, asked, login } = await consoleStub(t, { '/api/codes': CODE });
  const link = `http://127.0.0.1:${port}/login?code=abc`;
  assert.deepEqual(await command(), { code: 0, stdout: `${link}\n`, stderr: '' });
  assert.deepEqual(asked, [`POST /api/codes Bearer ${login}`]);
  const { stdout } = await command('--json', '--address', 'http://fleet.example:80');
  assert.deepEqual(JSON.parse(stdout), {
    url: 'http://fleet.example/login?code=abc',
    expires_at: CODE.expires_at,
  });
});

test('fleet console rebuild says how far back the read model reaches', async (t) => {
  const oldest = '2030-01-01T00:00:00.000Z';
  const found = await consoleStub(t, { '/api/rebuild': { rebuilt_at: 'now', reaches_back_to: oldest } }, 202);
  const { code, stdout } = await found.command('rebuild');
  assert.deepEqual([code, found.asked], [0, [`POST /api/rebuild Bearer ${found.login}`]]);
  assert.match(stdout, new RegExp(`it reaches back to ${oldest}`));
  const empty = await consoleStub(t, { '/api/rebuild': { rebuilt_at: 'now', reaches_back_to: null } }, 202);
  assert.match((await empty.command('rebuild')).stdout, /the streams have no event of a task/);
});

test('fleet console heads prints the audit heads that the console has seen', async (t) => {
  const head = { service: 'trader', store: 'f', seq: 7, hash: 'abc', at: '2030-01-01T00:00:00.000Z' };
  const found = await consoleStub(t, { '/api/audit/heads': { heads: [head] } }, 200);
  const { code, stdout } = await found.command('heads');
  assert.deepEqual([code, found.asked], [0, [`GET /api/audit/heads Bearer ${found.login}`]]);
  assert.match(stdout, /^trader +7 +2030-01-01T00:00:00.000Z +abc +f$/m);
  assert.deepEqual(JSON.parse((await found.command('heads', '--json')).stdout), { heads: [head] });
  const none = await consoleStub(t, { '/api/audit/heads': { heads: [] } }, 200);
  assert.match((await none.command('heads')).stdout, /has seen no head/);
});

test('a console that is away, or refuses, or has no keys is an error that says what to do', async (t) => {
  const refused = await consoleStub(t, {}, 401);
  const wrong = await refused.command();
  assert.deepEqual([wrong.code, wrong.stdout], [1, '']);
  assert.match(
    wrong.stderr,
    /^fleet: console does not accept CONSOLE_LOGIN .* restart the console\nhint: .*restart the services\n$/,
  );
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const address = closed.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  closed.close();
  await once(closed, 'close');
  const away = await fleet(['console', '--dir', refused.dir, '--port-offset', String(port - 9224)]);
  assert.deepEqual([away.code, away.stdout], [1, '']);
  assert.match(
    away.stderr,
    /^fleet: console does not answer at .*\nhint: make ps shows what of the fleet runs/,
  );
  const none = await fleet(['console', '--dir', tempDir(t)]);
  assert.match(
    none.stderr,
    /^fleet: the console has no keys in .*\nhint: make ps shows what of the fleet runs.*\n$/,
  );
});

test('a link is opened by the program of the desktop, and not without a display', async (t) => {
  const dir = tempDir(t);
  writeFileSync(join(dir, 'xdg-open'), `#!/bin/sh\necho "$1" >'${dir}/opened'\n`, { mode: 0o755 });
  const link = 'http://127.0.0.1:1/login?code=a';
  const env = { PATH: `${dir}:/usr/bin:/bin` };
  assert.equal(await openInBrowser(link, env, { platform: 'linux' }), false);
  assert.equal(await openInBrowser(link, { ...env, DISPLAY: ':0' }, { platform: 'linux' }), true);
  assert.equal(readFileSync(join(dir, 'opened'), 'utf8'), `${link}\n`);
  assert.equal(await openInBrowser(link, { PATH: dir }, { platform: 'darwin' }), false);
});
