import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { FleetError, systemClock } from '@hermes-fleet/protocol';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { COMMAND_ENV, createConfinement, runCommand } from '@hermes-fleet/workspace';
import { cannotConfine, makePlace } from '@hermes-fleet/workspace/testing';
import { AgentConfigSchema } from './config/config.ts';
import { block, makeAgent, makeContext, makeTask } from './testing/harness.ts';

/** A service of the machine; returns its port, and how many connected. */
async function service(t: TestContext): Promise<{ port: number; connected(): number }> {
  let connected = 0;
  const server = createServer((socket) => {
    connected += 1;
    socket.end('hello\n');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return { port: address.port, connected: () => connected };
}

for (const network of ['full', 'none'] as const)
  test(`with network: ${network}, a command ${network === 'none' ? 'reaches nothing but itself' : 'reaches the machine'}`, {
    skip: cannotConfine('bubblewrap'),
  }, async (t) => {
    const { port, connected } = await service(t);
    const agent = await makeAgent(t, { tools: { shell: { confine: 'bubblewrap', network } } });
    const script = `bash -c 'cat < /dev/tcp/127.0.0.1/${port}'; echo "links: $(tail -n +3 /proc/net/dev | cut -d: -f1)"`;
    const context = makeContext();
    const result = await agent.executor.run(makeTask(block('sh', script)), context);
    assert.equal(result.status, 'done', JSON.stringify(result));
    assert.equal(connected(), network === 'none' ? 0 : 1);
    const seen = JSON.stringify(context.checkpoints);
    if (network === 'none') assert.match(seen, /links: +lo\\n","stderr/, 'a loopback interface only');
    else assert.match(seen, /hello/);
  });

test('with network: none, what needs the loopback interface of its own works, and shared servers keep the network', {
  skip: cannotConfine('bubblewrap'),
}, async (t) => {
  const { port, connected } = await service(t);
  const place = makePlace(t);
  const parts = { confine: 'auto', network: 'none', ...place, clock: systemClock, log: silentLog } as const;
  const confinement = await createConfinement(parts);
  assert.equal(confinement.method, 'bubblewrap');
  const agent = await makeAgent(t, {}, { place, confinement });
  const script = `'${process.execPath}' -e "const s = require('net').createServer((c) => c.end('inner')).listen(0, '127.0.0.1', () => require('net').connect(s.address().port, '127.0.0.1').on('data', (d) => { console.log(String(d)); s.close() }))"`;
  const context = makeContext();
  await agent.executor.run(makeTask(block('sh', script)), context);
  assert.match(JSON.stringify(context.checkpoints), /inner/);
  const { wrap } = await confinement.serverPlace('task');
  const limits = { timeoutMs: 30_000, keepBytes: 1000, maxBytes: 1e6, clock: systemClock };
  const connect = async (confine: typeof wrap): Promise<string> => {
    const line = confine('/bin/bash', ['-c', `cat < /dev/tcp/127.0.0.1/${port}`]);
    return (await runCommand(line, { cwd: '/', env: COMMAND_ENV, ...limits })).stdout;
  };
  // The health of a server of scope task is measured as its instances run, which are confined as commands are.
  assert.deepEqual([await connect(wrap), connected()], ['', 0]);
  assert.deepEqual([await connect(confinement.launch), connected()], ['hello\n', 1]);
});

test('network: none is refused at start where no namespace confines commands, and says what to do', async (t) => {
  const place = makePlace(t);
  const parts = { ...place, network: 'none', clock: systemClock, log: silentLog } as const;
  const absent = { bwrap: '/bin/false', setpriv: 'setpriv' };
  for (const options of [
    { confine: 'uid' },
    { confine: 'unconfined' },
    { confine: 'auto', programs: absent },
    { confine: 'bubblewrap', programs: absent },
  ] as const)
    await assert.rejects(createConfinement({ ...parts, ...options }), (error) => {
      assert.ok(error instanceof FleetError);
      assert.deepEqual(
        [error.code, error.fields[0]?.path],
        ['CONFIG_INVALID', 'config.yaml tools.shell.network'],
      );
      assert.match(
        error.message,
        /none needs bubblewrap.*install bubblewrap, or set tools\.shell\.network: full$/,
      );
      return true;
    });
});

test('network: none does not go with executor: claude-code', () => {
  const config = { executor: 'claude-code', model: 'claude-x', tools: { shell: { network: 'none' } } };
  const parsed = AgentConfigSchema.safeParse(config);
  assert.deepEqual(
    parsed.error?.issues.map(({ path, message }) => [path.join('.'), message]),
    [
      [
        'tools.shell.network',
        'claude-code runs as a command and needs the network: use full, or executor: loop',
      ],
    ],
  );
});
