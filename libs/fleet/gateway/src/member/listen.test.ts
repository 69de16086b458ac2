import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { listen } from './listen.ts';

const app = (server: ReturnType<typeof createServer>) => ({
  async listen({ host, port }: { host: string; port: number }) {
    server.listen(port, host);
    await once(server, 'listening');
  },
});

test('a port in use and a foreign address are BIND_FAILED with the reason', async (t) => {
  const first = createServer().listen(0, '127.0.0.1');
  await once(first, 'listening');
  t.after(() => first.close());
  const address = first.address();
  const port = typeof address === 'object' && address ? address.port : assert.fail('no port');
  const failing = (host: string, says: RegExp) =>
    assert.rejects(
      listen(app(createServer()), 'neo', { bind_host: host, bind_port: port }),
      (thrown) => thrown instanceof FleetError && thrown.code === 'BIND_FAILED' && says.test(thrown.message),
    );
  await failing('127.0.0.1', new RegExp(`^neo cannot listen on 127\\.0\\.0\\.1:${port}: another process`));
  await failing('192.0.2.1', /^neo cannot listen on 192\.0\.2\.1:\d+: .*EADDRNOTAVAIL/);
});

test('localhost is one listener', async () => {
  const hosts: string[] = [];
  const recorder = {
    async listen({ host }: { host: string }) {
      hosts.push(host);
    },
  };
  await listen(recorder, 'neo', { bind_host: 'localhost', bind_port: 9220 });
  assert.deepEqual(hosts, ['127.0.0.1']);
});
