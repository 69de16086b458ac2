import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type BusConnection, inboxPrefix } from '@hermes-fleet/events';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { initKeys } from '../src/keys/init.ts';
import { keyPaths } from '../src/keys/layout.ts';
import { readSecret } from '../src/keys/secret-file.ts';
import { findNatsServer } from '../src/local/nats-server.ts';
import { waitUntilReady } from '../src/local/ready.ts';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : 0;
}

/**
 * A nats-server with the configuration that `keys init` writes, for switch, neo and the trader; resolves with the connection
 * of each user. It ends with the test.
 */
export async function startKeyedBus(t: TestContext): Promise<(user: string) => BusConnection> {
  const parent = tempDir(t, { prefix: 'bus-' });
  const [port, monitorPort] = [await freePort(), await freePort()];
  const { command, syncAlways } = findNatsServer(process.env);
  const dir = join(parent, 'keys');
  const storeDir = join(parent, 'store');
  initKeys({
    dir,
    services: ['switch', 'neo', 'trader'],
    nats: { storeDir, host: '127.0.0.1', port, monitorPort, syncAlways },
  });
  const child = spawn(command, ['--config', keyPaths(dir).natsConfig], { stdio: 'ignore' });
  const ended = new AbortController();
  child.once('exit', () => ended.abort('nats-server ended'));
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  const url = `http://127.0.0.1:${monitorPort}/healthz`;
  assert.equal(await waitUntilReady(url, 20_000, ended.signal, systemClock), undefined);
  return (user: string) => ({
    servers: [`nats://127.0.0.1:${port}`],
    user,
    pass: readSecret(keyPaths(dir).variable(user, 'NATS_PASSWORD')) ?? '',
    name: user,
    inboxPrefix: inboxPrefix(user),
  });
}
