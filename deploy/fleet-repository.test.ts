import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { stubbedCheckout } from '../test/support/stubbed-checkout.ts';

test('with Docker only, pull runs as its caller in a container that has the repository and nothing else', (t) => {
  const { run, last, dir, elsewhere } = stubbedCheckout(t, { node: false });
  writeFileSync(join(dir, '.git'), 'gitdir: elsewhere\n');
  const refused = run(['pull', 'x'], { FLEET_MODE: 'docker' });
  assert.equal(refused.status, 2);
  assert.match(refused.stderr, /is in another folder, so pull needs Node here/);
  rmSync(join(dir, '.git'));
  mkdirSync(join(dir, '.git'));
  const { status, stderr } = run(['pull', 'x', '--branch', 'two words'], { FLEET_MODE: 'docker' });
  assert.equal(status, 0, stderr);
  assert.match(last(), /^\[run\]\[--rm\]/);
  for (const part of [
    `[--user][${process.getuid?.()}:${process.getgid?.()}]`,
    `[--volume][${dir}:${dir}:rw][--workdir][${elsewhere}]`,
    '[-e][FLEET_TOKEN]',
    '[pull][--reach][switch=http://switch:9219]',
    '[x][--branch][two words]',
  ])
    assert.ok(last().includes(part), `${part} in ${last()}`);
  assert.match(last(), /token a-token$/);
});

test('with Docker only, a checkout is sent from a container that can read it and nothing else', (t) => {
  const { run, last, dir, elsewhere } = stubbedCheckout(t, { node: false });
  const mine = join(dir, 'my project');
  mkdirSync(join(mine, '.git'), { recursive: true });
  mkdirSync(join(mine, 'deep'));
  symlinkSync(mine, join(elsewhere, 'link'));
  for (const [args, access, folder, words] of [
    [['-', '--repo', './link'], 'ro', mine, `[-][--repo][${mine}]`],
    [['--repo=../my project/deep', '-'], 'ro', join(mine, 'deep'), `[--repo=${mine}/deep][-]`],
    [['--repo', mine, '--include-changes', '-'], 'rw', mine, `[--repo][${mine}][--include-changes][-]`],
  ] as const) {
    const { status, stderr } = run(['send', ...args], { FLEET_MODE: 'docker' }, 'the brief');
    assert.equal(status, 0, stderr);
    assert.match(last(), /^\[run\]\[--rm\]\[--init\]\[-i\]/);
    assert.ok(last().includes(`[--volume][${mine}:${mine}:${access}][--workdir][${folder}]`), last());
    assert.ok(last().includes(`[send][--reach][switch=http://switch:9219]`), last());
    assert.ok(last().includes(words), last());
    assert.match(last(), /token a-token$/);
  }
  for (const [args, says] of [
    [
      ['--repo', '/'],
      'fleet: without Node, send takes no repository in /: name another folder, or install Node with npm\n',
    ],
    [['--repo', './none'], 'fleet: --repo ./none is no folder: nothing was sent\n'],
    [
      ['--repo', './link', '--file', 'a'],
      'fleet: --file uses files of this machine, so it needs Node here: install Node with npm\n',
    ],
  ] as const) {
    const refused = run(['send', 'x', ...args], { FLEET_MODE: 'docker' });
    assert.deepEqual([refused.status, refused.stderr], [2, says]);
  }
  for (const args of [
    ['x', '--repo', 'web'],
    ['--', '--repo', './link'],
  ]) {
    assert.equal(run(['send', ...args], { FLEET_MODE: 'docker' }).status, 0);
    assert.match(last(), /^\[compose\]\[exec\]/);
  }
});

test('with Docker only, what the git of the caller ignores everywhere is ignored in the container, too', (t) => {
  const { run, last, dir } = stubbedCheckout(t, { node: false });
  const mine = join(dir, 'project');
  const home = join(dir, 'home of ann');
  mkdirSync(join(mine, '.git'), { recursive: true });
  mkdirSync(join(home, '.config/git'), { recursive: true });
  const send = (env: NodeJS.ProcessEnv = {}): string => {
    const { status, stderr } = run(['send', '-', '--repo', mine], {
      FLEET_MODE: 'docker',
      HOME: home,
      ...env,
    });
    assert.equal(status, 0, stderr);
    return last();
  };
  const mounted = (file: string): string =>
    `[--volume][${file}:/etc/fleet-ignore:ro][-e][GIT_CONFIG_COUNT=1][-e][GIT_CONFIG_KEY_0=core.excludesFile][-e][GIT_CONFIG_VALUE_0=/etc/fleet-ignore]`;
  assert.doesNotMatch(send(), /fleet-ignore/);
  const byDefault = join(home, '.config/git/ignore');
  writeFileSync(byDefault, '*.log\n');
  assert.ok(send().includes(mounted(byDefault)), last());
  mkdirSync(join(dir, 'xdg/git'), { recursive: true });
  writeFileSync(join(dir, 'xdg/git/ignore'), '');
  assert.ok(
    send({ XDG_CONFIG_HOME: join(dir, 'xdg') }).includes(mounted(join(dir, 'xdg/git/ignore'))),
    last(),
  );
  const git = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  symlinkSync(git, join(dir, 'bin/git'));
  writeFileSync(join(home, '.gitconfig'), '[core]\n\texcludesFile = ~/my ignore\n');
  writeFileSync(join(home, 'my ignore'), '*.log\n');
  assert.ok(send().includes(mounted(join(home, 'my ignore'))), last());
});
