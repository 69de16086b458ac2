import assert from 'node:assert/strict';
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
