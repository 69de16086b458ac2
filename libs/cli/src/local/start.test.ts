import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { portOwner } from './start.ts';

test('who has a port is its program, pid and folder, while it has it', async (t) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address);
  assert.equal(await portOwner(address.port), `node (pid ${process.pid}) in ${process.cwd()}`);
  await new Promise((resolve) => server.close(resolve));
  assert.equal(await portOwner(address.port), 'another program');
});
