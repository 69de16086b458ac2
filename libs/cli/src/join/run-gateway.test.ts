import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock as clock } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { isAlive, runningProcess } from '../local/pid-file.ts';
import { runGateway } from './run-gateway.ts';
import { workerHome } from './worker-home.ts';

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  assert.ok(address !== null && typeof address === 'object');
  return address.port;
}

/** A worker whose gateway only serves. */
async function worker(t: TestContext) {
  const running = () => runningProcess(home.runDir, 'worker-7');
  const dir = tempDir(t, {
    closeFirst: async () => {
      const left = running();
      if (left) process.kill(left.pid, 'SIGKILL');
    },
  });
  const port = await freePort();
  const home = workerHome(dir, { name: 'worker-7', bind: { host: '127.0.0.1', port } });
  for (const folder of [home.runDir, join(dir, 'logs')]) mkdirSync(folder, { recursive: true });
  const script = join(dir, 'serve.mjs');
  writeFileSync(
    script,
    `import { createServer } from 'node:http'; createServer((_, reply) => reply.end('{}')).listen(${port}, '127.0.0.1');`,
  );
  const entryPoint = { command: [script], env: process.env, cwd: dir };
  return { running, run: (foreground: boolean) => runGateway(home, entryPoint, { foreground, clock }) };
}

test('a command that fails in the foreground ends the gateway that it has started', async (t) => {
  const { running, run } = await worker(t);
  const gateway = await run(true);
  const before = running();
  assert.equal(before?.pid, gateway.pid);
  await gateway.stop();
  assert.ok(before && !isAlive(before));
  assert.equal(running(), undefined);
});

test('a command that fails leaves a gateway in the background, and the same command finds it', async (t) => {
  const { running, run } = await worker(t);
  const gateway = await run(false);
  await gateway.stop();
  assert.equal(running()?.pid, gateway.pid);
  const again = await run(false);
  assert.deepEqual([again.pid, again.state], [gateway.pid, 'already running']);
});
