import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { connect } from 'nats';
import { startNatsServer } from '../../testing/nats-server.ts';
import { renderNatsConfig } from './nats-config.ts';

const base = { storeDir: '/data', host: '0.0.0.0', port: 4222, syncAlways: false, users: [] };

test('sync_interval and the monitor are written only on request', () => {
  assert.doesNotMatch(renderNatsConfig(base), /sync_interval|http:/);
  const all = renderNatsConfig({ ...base, syncAlways: true, monitorPort: 8222 });
  assert.match(all, /sync_interval: always/);
  assert.match(all, /http: "0\.0\.0\.0:8222"/);
});

test('a value cannot escape its quotes', () => {
  const user = { user: 'a" b\\', password: 'p' };
  assert.match(renderNatsConfig({ ...base, users: [user] }), /user: "a\\" b\\\\",/);
  for (const storeDir of ['/data\nport: 1', '/data\u0085', '/data\ud800'])
    assert.throws(() => renderNatsConfig({ ...base, storeDir }), { code: 'CONFIG_INVALID' });
});

test('a real server stores its streams in a folder whose name is not ASCII', async (t) => {
  const storeDir = join(tempDir(t), 'jürgen "日本"');
  const server = await startNatsServer(t, { storeDir });
  assert.ok(existsSync(join(storeDir, 'jetstream')), server.url);
});

test('a real server accepts bcrypt hashes, plain passwords with quotes, and the monitor', {
  timeout: 60_000,
}, async (t) => {
  const monitor = await startNatsServer(t);
  const port = Number(new URL(monitor.url).port);
  await monitor.stop();
  const server = await startNatsServer(t, {
    monitorPort: port,
    users: [
      { user: 'hashed', password: '$2b$04$9wGo74LYwF6YvFwDnGSouOxr1sC9Ef8ck0XDVqWpWWqgAckeZXdfu' },
      { user: 'plain', password: 'with "quotes" and \\' },
    ],
  });
  const login = async (user: string, pass: string): Promise<void> =>
    (await connect({ servers: server.url, user, pass, reconnect: false })).close();
  await login('hashed', 'secret');
  await login('plain', 'with "quotes" and \\');
  await assert.rejects(login('hashed', 'wrong'), { code: 'AUTHORIZATION_VIOLATION' });
  await assert.rejects(login('nobody', ''), { code: 'AUTHORIZATION_VIOLATION' });
  const varz: unknown = await (await fetch(`http://127.0.0.1:${port}/varz`)).json();
  assert.ok(typeof varz === 'object' && varz !== null && 'version' in varz);
  assert.equal(varz.version, server.version);
});
