import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../test/support/fleet.ts';
import { startStockAgent } from '../test/support/stock-agent.ts';
import { stubbedCheckout } from '../test/support/stubbed-checkout.ts';
import { CTRL_C, DOWN, ENTER } from '../test/support/terminal.ts';

test('./fleet runs a command with the pinned Node, in the folder of the caller', (t) => {
  const { dir, elsewhere, run, last } = stubbedCheckout(t, { node: true });
  const { status, stderr } = run(['send', 'two words', '--file', 'a.txt'], { FLEET_MODE: 'process' });
  assert.equal(status, 0, stderr);
  const main = join(dir, 'libs/cli/src/main.ts');
  assert.equal(last(), `[${main}][send][two words][--file][a.txt] in ${elsewhere}, token none`);
  assert.equal(run(['--help']).status, 0);
  assert.equal(last(), `[${main}][--help] in ${elsewhere}, token none`);
});

test('./fleet passes on what follows token and demo, so that they refuse what they do not take', (t) => {
  const { run, last, calls } = stubbedCheckout(t, { node: true });
  for (const words of [
    ['token', '--json'],
    ['demo', 'extra'],
  ]) {
    const named = words.map((word) => `[${word}]`).join('');
    assert.equal(run(words, { FLEET_MODE: 'process' }).status, 0);
    assert.ok(last().includes(`main.ts]${named} in `), last());
    assert.equal(run(words, { FLEET_MODE: 'docker' }).status, 0);
    const inContainer = calls()
      .split('\n')
      .filter((call) => call.startsWith('[compose]'));
    assert.ok(
      inContainer.some((call) => call.includes(named)),
      words[0],
    );
  }
});

test('./fleet works by a symbolic link', (t) => {
  const { dir, run, last } = stubbedCheckout(t, { node: true });
  symlinkSync(join(dir, 'fleet'), join(dir, 'bin/hermes'));
  const { status, stderr } = spawnSync('hermes', ['--version'], {
    encoding: 'utf8',
    env: { PATH: join(dir, 'bin'), CALLS: join(dir, 'calls') },
  });
  assert.equal(status, 0, stderr);
  assert.match(last(), /\[--version\]/);
  for (const verb of ['up', 'down', 'ps', 'logs']) {
    assert.equal(run([verb, '--help']).status, 0);
    assert.match(last(), new RegExp(`main\\.ts\\]\\[${verb}\\]\\[--help\\]`));
  }
});

test('with containers and Node, a client command runs on the host, with the published addresses and the token', (t) => {
  const { dir, run, last, lastInput } = stubbedCheckout(t, { node: true });
  const { status, stderr } = run(['tasks', '--', '-x'], { FLEET_MODE: 'docker' }, 'the brief');
  assert.equal(status, 0, stderr);
  assert.ok(
    last().startsWith(`[${join(dir, 'libs/cli/src/main.ts')}][tasks][--reach][switch=http://127.0.0.1:9999]`),
  );
  assert.match(last(), /\[--\]\[-x\] in .*, token a-token$/);
  assert.equal(lastInput(), 'the brief');
});

test('with Docker only, a client command runs in a container, with the token in its environment', (t) => {
  const { run, last } = stubbedCheckout(t, { node: false });
  const { status, stderr } = run(['send', 'two words'], { FLEET_MODE: 'docker', NO_COLOR: '1' });
  assert.equal(status, 0, stderr);
  assert.match(
    last(),
    /^\[compose\]\[exec\]\[-T\]\[-e\]\[NO_COLOR\]\[-e\]\[FLEET_TOKEN\]\[-u\]\[1000\]\[switch\]\[fleet\]\[send\]\[--reach\]/,
  );
  assert.match(last(), /\[--reach\]\[trinity=http:\/\/trinity:9222\]\[two words\] in .*, token a-token$/);
  for (const [option, ...args] of [
    ['--file', 'send', 'x', '--file=a'],
    ['--schema', 'send', 'x', '--schema', 'a'],
    ['--artifacts', 'task', 'x', '--artifacts', 'out'],
    ['--artifacts', 'task', 'x', '--artifacts=out'],
  ]) {
    const refused = run(args, { FLEET_MODE: 'docker' });
    const says = `fleet: ${option} uses files of this machine, so it needs Node here: install Node with npm\n`;
    assert.deepEqual([refused.status, refused.stderr], [2, says]);
  }
});

test('a command for another agent gets no token of the fleet, only the variable that it names', (t) => {
  const { run, last } = stubbedCheckout(t, { node: false });
  const args = ['send', 'x', '--url', 'https://a.example', '--token-env', 'THEIRS'];
  const { status, stderr } = run(args, { FLEET_MODE: 'docker', THEIRS: 'secret' });
  assert.equal(status, 0, stderr);
  assert.match(
    last(),
    /^\[compose\]\[exec\]\[-T\]\[-e\]\[THEIRS\]\[-u\]\[1000\]\[switch\]\[fleet\]\[send\]\[x\].*token none$/,
  );
  assert.equal(run(['send', '--url', 'x', '--token-env', 'A;B'], { FLEET_MODE: 'docker' }).status, 2);
  const here = stubbedCheckout(t, { node: true });
  assert.equal(here.run(args, { FLEET_MODE: 'docker' }).status, 0);
  assert.match(here.last(), /main\.ts\]\[send\]\[x\]\[--url\].*token none$/);
});

test('with Docker only, help comes from the image, without a fleet', (t) => {
  const { run, last } = stubbedCheckout(t, { node: false });
  const commands = [
    'send',
    'tasks',
    'events',
    'console',
    'mcp',
    'demo',
    'route',
    'trader',
    'doctor',
    'token',
    'up',
    'logs',
  ];
  for (const words of [[], ...commands.map((name) => [name])]) {
    const { status, stderr } = run([...words, '--help'], { FLEET_MODE: 'docker', DOWN: 'yes' });
    assert.equal(status, 0, stderr);
    const called = [
      'compose',
      'run',
      '--rm',
      '--no-deps',
      '-T',
      '--entrypoint',
      'fleet',
      'keys',
      ...words,
      '--help',
    ];
    assert.ok(last().startsWith(`${called.map((word) => `[${word}]`).join('')} in `), last());
  }
  const down = run(['send', '--', '--help'], { FLEET_MODE: 'docker', DOWN: 'yes' });
  assert.deepEqual([down.status, down.stderr], [1, 'no fleet runs: make up first\n']);
});

test('with containers, events runs in a container with the keys of the operator', (t) => {
  for (const node of [true, false]) {
    const { run, last } = stubbedCheckout(t, { node });
    const { status, stderr } = run(
      ['events', '-f', '--task', 't-1'],
      { FLEET_MODE: 'docker' },
      'no input of it',
    );
    assert.equal(status, 0, stderr);
    const called = ['compose', 'run', '--rm', '--no-deps', '-T', 'events', '-f', '--task', 't-1'];
    assert.ok(last().startsWith(`${called.map((word) => `[${word}]`).join('')} in `), last());
    const down = run(['events'], { FLEET_MODE: 'docker', DOWN: 'yes' });
    assert.deepEqual([down.status, down.stderr], [1, 'no fleet runs: make up first\n']);
  }
});

test('with containers, mcp serves the named profile over stdio, on the host or in its container', (t) => {
  const onHost = stubbedCheckout(t, { node: true });
  const served = onHost.run(['mcp'], { FLEET_MODE: 'docker' }, 'a request');
  assert.deepEqual([served.status, served.stdout], [0, ''], served.stderr);
  assert.match(
    onHost.last(),
    /\[mcp\]\[--url\]\[http:\/\/127\.0\.0\.1:9999\]\[--token-env\]\[FLEET_TOKEN\] in .*, token a-token$/,
  );
  assert.equal(onHost.lastInput(), 'a request');
  const inContainer = stubbedCheckout(t, { node: false });
  assert.equal(inContainer.run(['mcp', '--profile', 'neo'], { FLEET_MODE: 'docker' }).status, 0);
  assert.match(
    inContainer.last(),
    /^\[compose\]\[exec\]\[-T\]\[-e\]\[FLEET_TOKEN\]\[-u\]\[1000\]\[neo\]\[fleet\]\[mcp\]\[--url\]\[http:\/\/127\.0\.0\.1:9220\]/,
  );
  const wrong = inContainer.run(['mcp', '--profile=ghost'], { FLEET_MODE: 'docker' });
  assert.deepEqual(
    [wrong.status, wrong.stderr],
    [2, 'fleet: there is no profile ghost, only switch, neo, morpheus, trinity\n'],
  );
});

test('logs with a task searches the logs of the processes, or those of the containers on stdin', (t) => {
  const onHost = stubbedCheckout(t, { node: true });
  assert.equal(onHost.run(['logs', 't-1', '--json'], { FLEET_MODE: 'process' }).status, 0);
  assert.match(onHost.last(), /main\.ts\]\[logs\]\[t-1\]\[--json\] in .*else where,/);
  assert.equal(onHost.run(['logs', 't-1', '--json'], { FLEET_MODE: 'docker' }).status, 0);
  assert.match(onHost.calls(), /main\.ts\]\[logs\]\[--stdin\]\[t-1\]\[--json\] in .*else where,/);
  assert.equal(onHost.lastInput(), 'a line\n');
  const inContainer = stubbedCheckout(t, { node: false });
  assert.equal(inContainer.run(['logs', 't-1'], { FLEET_MODE: 'docker' }).status, 0);
  assert.match(
    inContainer.calls(),
    /^\[compose\]\[run\]\[--rm\]\[--no-deps\]\[-T\]\[--entrypoint\]\[fleet\]\[keys\]\[logs\]\[--stdin\]\[t-1\] /m,
  );
  assert.match(
    inContainer.calls(),
    /^\[compose\]\[logs\]\[--no-color\]\[--no-log-prefix\]\[switch\]\[neo\]\[morpheus\]\[trinity\]\[trader\] /m,
  );
  assert.doesNotMatch(inContainer.calls(), /--follow/);
  assert.equal(inContainer.run(['logs'], { FLEET_MODE: 'docker' }).status, 0);
  assert.match(inContainer.last(), /^\[compose\]\[logs\]\[--follow\]\[--tail\]\[100\] /);
});

test('ps takes the options of its command, and no command of ./fleet leaves one out in silence', (t) => {
  const { run, last } = stubbedCheckout(t, { node: true });
  assert.equal(run(['ps', '--json'], { FLEET_MODE: 'process' }).status, 0);
  assert.match(last(), /main\.ts\]\[local\]\[ps\]\[--json\] /);
  const inContainers = run(['ps', '--json'], { FLEET_MODE: 'docker' });
  assert.deepEqual(
    [inContainers.status, inContainers.stdout, inContainers.stderr],
    [
      2,
      '',
      'fleet: ps takes no "--json" for a fleet in containers: docker compose ps --all has --format json\n',
    ],
  );
  for (const verb of ['up', 'down'])
    for (const mode of ['docker', 'process']) {
      const { status, stderr } = run([verb, '--json'], { FLEET_MODE: mode });
      assert.deepEqual([status, stderr], [2, `fleet: ${verb} takes no "--json"\n`]);
    }
});

for (const [where, node, mode] of [
  ['as plain processes', true, 'process'],
  ['with containers and Node', true, 'docker'],
  ['with Docker only', false, 'docker'],
] as const)
  test(`${where}, Ctrl-C reaches the command alone, whose exit code is that of ./fleet`, async (t) => {
    const agent = await startStockAgent(t, { behaviour: () => new Promise(() => undefined) });
    const { origin, host } = new URL(agent.rpcUrl);
    const { dir, terminal } = stubbedCheckout(t, { node });
    if (node) {
      rmSync(join(dir, 'node_modules/.bin/node'));
      symlinkSync(process.execPath, join(dir, 'node_modules/.bin/node'));
      symlinkSync(join(ROOT, 'libs'), join(dir, 'libs'));
    }
    const reach = mode === 'process' ? ['--reach', `switch=${origin}`] : node ? [] : ['--url', origin];
    const shown = terminal(t, ['send', 'it', ...reach], {
      FLEET_MODE: mode,
      FLEET_TOKEN: 'a-token',
      SWITCH: host,
      NODE: process.execPath,
      MAIN: join(ROOT, 'libs/cli/src/main.ts'),
    });
    await shown.waitFor(/working/);
    shown.type(CTRL_C);
    await shown.waitFor(/The task is not done[\s\S]*go on watching/);
    shown.type(`${DOWN}${ENTER}`);
    await shown.waitFor(/status {5}canceled/);
    assert.equal(await shown.ended, 1);
  });

test('make trader lists the strategies, unless ARGS says more', (t) => {
  const { dir, elsewhere } = stubbedCheckout(t, { node: true });
  copyFileSync(join(ROOT, 'Makefile'), join(dir, 'Makefile'));
  const made = (...args: string[]): string =>
    spawnSync('make', ['--dry-run', '-C', dir, 'trader', ...args], { cwd: elsewhere, encoding: 'utf8' })
      .stdout;
  assert.match(made(), /^\.\/fleet trader list$/m);
  assert.match(made('ARGS=audit verify'), /^\.\/fleet trader audit verify$/m);
});
