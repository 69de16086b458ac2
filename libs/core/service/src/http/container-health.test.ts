import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createAuthority } from '@hermes-fleet/net/testing';
import { createRenewedTls, readTls } from '@hermes-fleet/net/tls';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { runProgram } from '../../../../../test/support/fleet.ts';
import { startApp } from '../../testing/start-app.ts';

// The health check of the image (deploy/docker), against the server that it asks in a container.

const SCRIPT = join(import.meta.dirname, '../../../../../deploy/docker/healthcheck.sh');

async function check(port: number, path: string): Promise<{ code: number | null; stdout: string }> {
  const env = { ...process.env, HEALTH_PORT: String(port), HEALTH_PATH: path };
  const { code, stdout } = await runProgram('bash', [SCRIPT], { env });
  return { code, stdout };
}

async function serve(t: TestContext, overTls: boolean): Promise<number> {
  const certificate = createAuthority(t).issue('server', { names: 'DNS:switch.example' });
  const files = { certFile: certificate.certFile, keyFile: certificate.keyFile };
  const check = { use: 'server' as const, now: Date.now() };
  const { material } = readTls(files, check);
  assert.ok(material);
  const source = createRenewedTls({
    key: 'fleet.server.tls',
    files,
    material,
    check,
    keyOf: ({ key }: { key: string }) => key,
    clock: systemClock,
    log: { info: () => undefined, warn: () => undefined },
    lookEveryMs: 0,
  });
  const { port } = await startApp(t, {
    ...(overTls ? { tls: { files: source, clientCert: 'none' as const } } : {}),
    routes: (app) => {
      app.get('/works', { config: { public: true } }, async () => ({ up: true }));
      app.get('/waits', { config: { public: true } }, async (_, reply) =>
        reply.status(503).send({ up: false, padding: 'x'.repeat(5_000) }),
      );
    },
  });
  return port;
}

for (const overTls of [false, true])
  test(`a container is healthy when its service answers 2xx over ${overTls ? 'https' : 'http'}`, async (t) => {
    const port = await serve(t, overTls);
    assert.deepEqual(await check(port, '/works'), { code: 0, stdout: '200 {"up":true}' });
    const waits = await check(port, '/waits');
    assert.equal(waits.code, 1);
    assert.match(waits.stdout, /^503 \{"up":false/);
    assert.ok(waits.stdout.length <= 1_004, 'the printed answer is bounded');
  });

test('a container whose port is closed, or says nothing, is not healthy', async (t) => {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  assert.deepEqual(await check(address.port, '/ready'), {
    code: 1,
    stdout: `no answer on port ${address.port}`,
  });
  server.close();
  await once(server, 'close');
  assert.equal((await check(address.port, '/ready')).code, 1);
});
