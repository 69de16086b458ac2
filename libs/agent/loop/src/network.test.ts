import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { COMMAND_ENV, createConfinement, runCommand } from '@hermes-fleet/workspace';
import { cannotConfine, makePlace } from '@hermes-fleet/workspace/testing';
import { networkScene } from '../testing/allowed-network.ts';
import { block, makeAgent, makeContext, makeTask } from '../testing/harness.ts';
import { scriptedAgent } from '../testing/scripted-run.ts';
import { say, use } from '../testing/scripted-server.ts';

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

test('network: none, and one of named hosts, are refused at start where no namespace confines commands, and say what to do', async (t) => {
  const place = makePlace(t);
  const parts = { ...place, clock: systemClock, log: silentLog } as const;
  const absent = { bwrap: '/bin/false', setpriv: 'setpriv' };
  for (const options of [
    { network: 'none', confine: 'uid' },
    { network: 'none', confine: 'unconfined' },
    { network: 'none', confine: 'auto', programs: absent },
    { network: 'allow', confine: 'uid' },
    { network: 'allow', confine: 'bubblewrap', programs: absent },
  ] as const)
    await assert.rejects(createConfinement({ ...parts, ...options }), (error) => {
      assert.ok(error instanceof FleetError);
      assert.deepEqual(
        [error.code, error.fields[0]?.path],
        ['CONFIG_INVALID', 'config.yaml tools.shell.network'],
      );
      assert.match(
        error.message,
        /network: (none|allow) needs bubblewrap.*install bubblewrap, or set tools\.shell\.network: full$/,
      );
      return true;
    });
});

test('the model is told which hosts its commands reach, and what was refused to one', {
  skip: cannotConfine('bubblewrap'),
}, async (t) => {
  const { network, place, confinement } = await networkScene(t, { allow: ['*.pkg.test', 'b.test:8443'] });
  const script = [
    use([
      ['shell_exec', { command: 'curl -sS https://evil.example; echo "$HTTPS_PROXY"' }],
      ['shell_start', { command: 'curl -sS https://bad.example; mkfifo f; cat f' }],
      ['shell_exec', { command: 'true' }],
    ]),
    use([['shell_output', { id: 'p1.1', wait_s: 5 }]]),
    say('Done.'),
  ];
  const run = await scriptedAgent(
    t,
    script,
    { tools: { shell: { network: { allow: ['unused.test'] } } } },
    { network, place, confinement },
  );
  const { requests } = await run();
  const offered = requests[0]?.tools?.find((tool) => tool.function.name === 'shell_exec');
  assert.match(
    String(offered?.function.description),
    /reaches these hosts only, by HTTP and HTTPS, through the proxy of HTTPS_PROXY: \*\.pkg\.test, b\.test:8443\.$/,
  );
  const told = requests
    .at(-1)
    ?.messages.flatMap(({ role, content }) => (role === 'tool' ? [String(content)] : []));
  assert.ok(told);
  const refused = (host: string): string =>
    `"network_refused":["${host}:443: it is not in tools.shell.network.allow"]`;
  assert.ok(told[0]?.includes(refused('evil.example')), told[0]);
  assert.match(told[0] ?? '', /http:\/\/127\.0\.0\.1:3128/);
  assert.ok(`${told[1]}${told[3]}`.includes(refused('bad.example')), told.join('\n'));
  assert.doesNotMatch(told[2] ?? '', /refused/);
});

test('with network: full and none, nothing of a proxy is there', {
  skip: cannotConfine('bubblewrap'),
}, async (t) => {
  for (const network of ['full', 'none'] as const) {
    const script = [
      use([
        ['shell_exec', { command: 'env | grep -ci proxy; ls /.hermes-fleet; set -- /proc/[0-9]*; echo $#' }],
      ]),
      say('Done.'),
    ];
    const run = await scriptedAgent(t, script, { tools: { shell: { confine: 'bubblewrap', network } } });
    const { requests } = await run();
    const offered = requests[0]?.tools?.find((tool) => tool.function.name === 'shell_exec');
    assert.doesNotMatch(String(offered?.function.description), /proxy/);
    const [told = ''] =
      requests.at(-1)?.messages.flatMap(({ role, content }) => (role === 'tool' ? [String(content)] : [])) ??
      [];
    // The processes are bubblewrap and the shell.
    assert.match(told, /"stdout":"0\\n2\\n"/, told);
    assert.match(told, /cannot access '\/\.hermes-fleet'/);
  }
});
