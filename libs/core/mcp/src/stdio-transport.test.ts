import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { superviseGroup } from './server-process.ts';
import { StdioTransport } from './stdio-transport.ts';

test('a message to an exiting server fails with its exit code', { timeout: 20_000 }, async (t) => {
  // Closes its input and exits a little later, as when the two events of an exit arrive separately.
  const deaf = `require('fs').closeSync(0); console.log('{"jsonrpc":"2.0","method":"deaf"}');
    setTimeout(() => process.exit(7), 200);`;
  const transport = new StdioTransport({
    line: { command: process.execPath, args: ['-e', deaf] },
    supervise: superviseGroup,
    env: {},
    cwd: undefined,
    clock: systemClock,
    log: silentLog,
  });
  t.after(() => transport.close());
  const isDeaf = Promise.withResolvers<void>();
  transport.onmessage = () => isDeaf.resolve();
  await transport.start();
  await isDeaf.promise;
  await assert.rejects(transport.send({ jsonrpc: '2.0', method: 'hello' }), {
    message: 'process exited with code 7',
  });
});

test('a server that its supervision, once it has exited, says was ended for a limit, failed for that', {
  timeout: 20_000,
}, async () => {
  let tell = (_limit: string): void => assert.fail();
  const transport = new StdioTransport({
    line: { command: process.execPath, args: ['-e', 'process.kill(process.pid, "SIGKILL")'] },
    supervise: (line) => ({
      ...superviseGroup(line),
      started(_pid, end) {
        tell = end;
      },
      [Symbol.dispose]: () => tell('it took too much'),
    }),
    env: {},
    cwd: undefined,
    clock: systemClock,
    log: silentLog,
  });
  await transport.start();
  await transport.exited;
  assert.equal(transport.failure?.message, 'ended: it took too much');
});
