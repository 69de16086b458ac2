import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { portOwner } from './start.ts';
import { startProcess } from './start-process.ts';

test('a process whose pid file cannot be written is killed', async (t) => {
  const dir = tempDir(t);
  mkdirSync(join(dir, 'run/neo.json.tmp'), { recursive: true });
  const pidFile = join(dir, 'pid');
  const command = {
    file: 'sh',
    args: ['-c', `echo $$ >${pidFile}; exec sleep 300`],
    env: process.env,
    cwd: dir,
  };
  const start = () =>
    startProcess(join(dir, 'run'), { name: 'neo', logFile: join(dir, 'logs/neo.log') }, command);
  assert.throws(start, /EISDIR/);
  const left = spawnSync('pgrep', ['-f', pidFile], { encoding: 'utf8' });
  assert.equal(left.stdout, '');
});

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
