import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { createServer as createHttp } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { deadline, manualClock, recordingLog, silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { COMMAND_ENV, createConfinement, runCommand } from '@hermes-fleet/workspace';
import {
  cannotConfine,
  closedToOthers,
  commandsFolder,
  makePlace,
  nodeForOthers,
} from '@hermes-fleet/workspace/testing';
import { networkScene } from '../../testing/allowed-network.ts';
import { openConfiguredNetwork } from './allowed-network.ts';

const skip = cannotConfine('bubblewrap');
const isRoot = process.getuid?.() === 0;
const AS_PLAIN = 'TEST_AS_PLAIN_USER';

interface Logged {
  readonly message: string;
  readonly fields: { readonly command?: string; readonly target?: string; readonly reason?: string };
}

async function listening(t: TestContext, server: Server, where: object): Promise<Server> {
  server.listen(where);
  await once(server, 'listening');
  t.after(() => server.close());
  return server;
}

/** A web server of this machine that counts its connections. */
async function web(t: TestContext): Promise<{ port: number; connected(): number }> {
  let connected = 0;
  const server = createHttp((request, response) => response.end(`hello ${request.url}\n`));
  server.on('connection', () => {
    connected += 1;
  });
  await listening(t, server, { port: 0, host: '127.0.0.1' });
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return { port: address.port, connected: () => connected };
}

test('a command reaches the named host and nothing else; what was refused is named to it, to its reader and in the log', {
  skip,
}, async (t) => {
  const { port, connected } = await web(t);
  const abstract = `fleet-test-${process.pid}`;
  await listening(
    t,
    createServer((socket) => socket.end('abstract')),
    { path: `\0${abstract}` },
  );
  const log = recordingLog();
  const scene = await networkScene(
    t,
    { allow: ['loop.test'], allow_internal: [`pkg.test:${port}`] },
    { log },
  );
  const good = await scene.run(
    `curl -sS http://pkg.test:${port}/plain; curl -sSp http://pkg.test:${port}/tunnel
     node -e "fetch('http://pkg.test:${port}/node').then((r) => r.text()).then((s) => process.stdout.write(s))"`,
  );
  assert.equal(good.stdout, 'hello /plain\nhello /tunnel\nhello /node\n', good.stderr);
  assert.deepEqual([good.refused, good.stderr], [[], '']);
  const before = connected();
  const bad = await scene.run(`
    bash -c 'cat < /dev/tcp/127.0.0.1/${port}'
    node -e "require('net').connect('\\0${abstract}').on('error', (e) => console.log('abstract', e.code)).on('data', console.log)"
    for url in http://127.0.0.1:${port} http://pkg.test https://evil.example http://loop.test http://[::1]:${port}; do
      NO_PROXY= no_proxy= curl -sS "$url"
    done
    curl -sS https://evil.example
    tail -n +3 /proc/net/dev | cut -d: -f1`);
  assert.match(bad.stdout, /abstract ECONNREFUSED/);
  assert.match(bad.stdout, /^ +lo$/m);
  assert.match(
    bad.stdout,
    /the network of this task refused pkg\.test:80: it is not in tools\.shell\.network\.allow/,
  );
  assert.equal(connected(), before);
  const refused = [
    `127.0.0.1:${port}: it is an address, and tools.shell.network.allow does not have it`,
    'pkg.test:80: it is not in tools.shell.network.allow',
    'evil.example:443: it is not in tools.shell.network.allow',
    'loop.test:80: it has no public address, and tools.shell.network.allow_internal does not have it',
    `[::1]:${port}: it is an address, and tools.shell.network.allow does not have it`,
  ];
  assert.deepEqual(bad.refused, refused);
  await scene.run('curl -sS https://evil.example');
  assert.deepEqual(
    log.entries.map(({ message, fields: { command, target, reason } }: Logged) => [
      ...[message, command],
      `${target}: ${reason}`,
    ]),
    refused.map((line) => ['the network of a command refused a connection', 'test', line]),
    'once each',
  );
});

test('a command that is refused without end is told of ten hosts and a number', { skip }, async (t) => {
  const log = recordingLog();
  const { run } = await networkScene(t, { allow: ['a.test'] }, { log });
  const { refused } = await run('for i in $(seq 15); do curl -s http://h$i.test; done');
  assert.deepEqual(
    [refused.length, refused[9], refused[10]],
    [11, 'h10.test:80: it is not in tools.shell.network.allow', '5 more refusals'],
  );
  assert.equal(log.entries.filter(({ message }) => message.includes('refused a connection')).length, 11);
});

test('exit codes, signals, output and input of a command are what they are without a network', {
  skip,
}, async (t) => {
  const scene = await networkScene(t, { allow: ['a.test'] });
  const place = makePlace(t);
  const none = await createConfinement({
    ...{ ...place, confine: 'bubblewrap', network: 'none', clock: systemClock, log: silentLog },
  } as const);
  const dir = await commandsFolder(place, none);
  const file = join(tempDir(t), 'input');
  spawnSync('sh', ['-c', `printf 'of a file' > ${file}`]);
  for (const script of [
    'exit 7',
    'kill -TERM $$',
    'kill -9 $$',
    'echo out; echo err >&2; exit 125',
    'cat; ls -l /proc/self/fd | wc -l',
    'ulimit -a; umask; id -u; ps -o stat= -p $$; trap -p',
    'sleep 1000 & echo left',
    'jobs; wait; echo waited',
    'no-such-command',
  ]) {
    const limits = { timeoutMs: 60_000, keepBytes: 10_000, maxBytes: 1e6, clock: systemClock };
    const stdin = openSync(file, 'r');
    const line = none.wrap('/bin/bash', ['-c', script], { writable: [dir], readOnly: [] });
    const expected = await runCommand(line, { cwd: dir, env: COMMAND_ENV, stdin, ...limits });
    const { refused: _, ...got } = await scene.run(script, { stdin: openSync(file, 'r') });
    assert.deepEqual(got, expected, script);
  }
  const timedOut = await scene.run('echo begun; sleep 1000', { timeoutMs: 2000 });
  assert.deepEqual([timedOut.killed, timedOut.stdout], ['timeout', 'begun\n']);
});

/** Also Unix sockets. */
const openSockets = (): number =>
  process.getActiveResourcesInfo().filter((name) => /^(TCPSocket|Pipe)Wrap$/.test(name)).length;

/** Processes in a network namespace. */
const inNamespace = (net: string): string[] =>
  readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readlinkSync(`/proc/${pid}/ns/net`) === net;
    } catch {
      return false;
    }
  });

test('the relay and the connections of a command end with it, and its socket with them', {
  skip,
  ...deadline,
}, async (t) => {
  const held: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => void held.push(socket));
  await listening(t, server, { port: 0, host: '127.0.0.1' });
  t.after(() => {
    for (const socket of held) socket.destroy();
  });
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const { place, run } = await networkScene(t, { allow_internal: [`a.test:${address.port}`] });
  const before = openSockets();
  const { stdout } =
    await run(`readlink /proc/self/ns/net; cat /proc/$(pgrep -x fleet-relay)/cmdline | tr '\\0' ' '; echo
    node -e "
      let answers = '', left = 300;
      for (let i = 0; i < 300; i += 1) {
        const socket = require('net').connect({ port: 3128, host: '127.0.0.1', allowHalfOpen: true });
        socket.write('CONNECT a.test:${address.port} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n');
        let answer = 'none';
        const end = () => {
          answers += answer + ' ';
          left -= 1;
          if (left === 0) process.exit(console.log(answers));
        };
        socket.on('error', () => {}).once('end', end).once('close', () => socket.readableEnded || end());
        socket.on('data', (data) => {
          answer = String(data).slice(9, 12);
          if (answer === '200') end();
        });
      }"`);
  const [net = '', title = '', answers = ''] = stdout.split('\n');
  const [served, told, none] = ['200', '503', 'none'].map((answer) => answers.split(answer).length - 1);
  assert.deepEqual([served, held.length], [64, 64], answers);
  assert.ok(told !== undefined && none !== undefined && told >= 16 && told + none === 300 - 64, answers);
  // Those of the host itself stay open, and none of the proxy.
  while (openSockets() > before + held.length) await nextTurn();
  assert.equal(title.trim(), 'fleet-relay', 'no command finds a Node or its script there');
  // The kernel ends them with bubblewrap.
  while (inNamespace(net.trim()).length > 0) await nextTurn();
  assert.deepEqual(readdirSync(join(place.stateDir, 'network')), ['relay.cjs']);
});

test('a command that takes all connections that it can takes none of another', {
  skip,
  ...deadline,
}, async (t) => {
  const { port } = await web(t);
  const { run } = await networkScene(t, { allow_internal: [`a.test:${port}`] });
  const flood = run(`ls /.hermes-fleet; node -e "
    const { existsSync, writeFileSync } = require('node:fs');
    let tried = 0;
    setInterval(() => {
      for (let i = 0; i < 20; i += 1) require('net').connect('/.hermes-fleet/proxy').on('error', () => {});
      tried += 20;
      if (tried === 2000) writeFileSync('flooded', '');
      if (existsSync('done')) process.exit();
    }, 5)"`);
  const other = await run(`until [ -e flooded ]; do sleep 0.05; done
    for i in 1 2 3; do curl -sS http://a.test:${port}/$i; done; touch done`);
  assert.deepEqual([other.stdout, other.stderr], ['hello /1\nhello /2\nhello /3\n', '']);
  assert.equal((await flood).stdout, 'proxy\nrelay.cjs\n', 'each sees its own socket only');
});

test('a way that no command takes is closed after a minute', async (t) => {
  const stateDir = tempDir(t);
  const clock = manualClock();
  const hosts = { allow: ['a.test'], allow_internal: [] };
  const network = await openConfiguredNetwork(hosts, { stateDir, clock, log: silentLog });
  t.after(() => network?.[Symbol.asyncDispose]());
  const { files } = network?.openProxy({}) ?? assert.fail();
  assert.ok(existsSync(files.socket));
  clock.advance(60_000);
  assert.deepEqual([existsSync(files.socket), clock.timers], [false, 0]);
});

test('a relay that cannot start ends the command, and says why', { skip }, async (t) => {
  const { place, run } = await networkScene(t, { allow: ['a.test'] });
  writeFileSync(join(place.stateDir, 'network/relay.cjs'), 'throw new Error("broken")');
  const { exitCode, stdout, stderr } = await run('echo ran');
  assert.deepEqual([exitCode, stdout], [125, '']);
  assert.match(stderr, /^the way to the network could not be opened: [\s\S]*Error: broken/);
});

test('the folder of the sockets goes with the network', { skip }, async (t) => {
  const { port } = await web(t);
  const first = await networkScene(t, { allow_internal: [`a.test:${port}`] });
  const folder = join(first.place.stateDir, 'network');
  assert.equal((await first.run(`curl -sS http://a.test:${port}/`)).stdout, 'hello /\n');
  await first.network[Symbol.asyncDispose]();
  assert.equal(existsSync(folder), false);
});

test('all of this holds for a gateway of a plain user', {
  skip: !isRoot || skip || closedToOthers(import.meta.filename),
}, (t) => {
  const node = nodeForOthers(t);
  const user = ['--reuid', '1500', '--regid', '1500', '--clear-groups', '--inh-caps=-all'];
  const args = [...user, node, '--test', '--test-reporter=tap', import.meta.filename];
  const env = { PATH: process.env.PATH, [AS_PLAIN]: '1' };
  const ran = spawnSync('setpriv', args, { cwd: '/', env, encoding: 'utf8' });
  assert.match(ran.stdout, /^# fail 0$/m, ran.stdout + ran.stderr);
  assert.match(ran.stdout, /^# pass 8$/m);
});
