import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { withoutEngine } from '../../test/support/engine.ts';
import { asProfile, docker } from '../../test/support/profile-container.ts';

const root = join(import.meta.dirname, '../..');
const image = 'hermes-fleet:users-test';

const USER = [
  '--reuid',
  '20007',
  '--regid',
  '20007',
  '--clear-groups',
  '--inh-caps=-all',
  '--ambient-caps=-all',
];

test('in the container, contexts have users of their own under Landlock', {
  skip: withoutEngine(),
  timeout: 500_000,
}, (t) => {
  t.after(() => docker(['image', 'rm', image]));
  const base = process.env.NODE_IMAGE ? ['--build-arg', `BASE_IMAGE=${process.env.NODE_IMAGE}`] : [];
  const built = docker(
    ['build', '--file', 'deploy/docker/Dockerfile', ...base, '--tag', image, '.'],
    280_000,
  );
  assert.equal(built.status, 0, built.stderr);
  const run = (...args: string[]) =>
    docker(['run', '--rm', '--network', 'none', ...asProfile(), ...args], 180_000);

  const shared = run(
    image,
    'sh',
    '-c',
    'stat -c "%U %a" /tmp /dev/shm; ls -A /tmp /dev/shm; echo $HERMES_COMMAND_USERS',
  );
  assert.deepEqual(shared.stdout.trim().split('\n'), [
    'node 1733',
    'node 1733',
    '/dev/shm:',
    '',
    '/tmp:',
    '20000-39999',
  ]);
  const asUser = (script: string) => run(image, 'setpriv', ...USER, 'sh', '-c', script);
  const named = asUser(
    'id -un; id -gn; f=$(mktemp) && echo x > $f && rm $f && : > /dev/shm/x && echo written',
  );
  assert.equal(named.stdout, 'context-20007\ncontext-20007\nwritten\n', named.stderr);
  for (const folder of ['/tmp', '/dev/shm']) assert.notEqual(asUser(`ls ${folder}`).status, 0, folder);

  // The tests of the parts, as the gateway's user in the container, with the sources, which the image does not have.
  const tests = [
    'libs/agent/workspace/src/confinement/command-users.test.ts',
    'libs/agent/workspace/src/confinement/contract.test.ts',
    'libs/agent/workspace/src/confinement/landlock.test.ts',
    'libs/agent/workspace/src/tree/context-store.slow.test.ts',
  ];
  // Node runs the files that exist, and says nothing of the others.
  for (const file of tests) assert.ok(existsSync(join(root, file)), file);
  const gitconfig = join(tempDir(t), 'gitconfig');
  writeFileSync(gitconfig, '[core]\n', { mode: 0o644 });
  const mounts = [
    ...['libs', 'node_modules'].map((folder) => `${root}/${folder}:/app/${folder}:ro`),
    `${gitconfig}:/etc/gitconfig:ro`,
  ].flatMap((mount) => ['--volume', mount]);
  // Some tests write a program and run it.
  const profile = asProfile().map((option) => (option.startsWith('/tmp:') ? `${option},exec` : option));
  const options = ['--rm', '--network', 'none', ...profile, ...mounts, '--tmpfs', '/var/tmp:mode=1777'];
  const node = ['node', '--test', '--test-reporter=tap', ...tests];
  const ran = docker(['run', ...options, image, ...node], 180_000);
  assert.equal(ran.status, 0, ran.stdout + ran.stderr);
  const count = (what: string): number => Number(new RegExp(`^# ${what} (\\d+)$`, 'm').exec(ran.stdout)?.[1]);
  assert.ok(count('pass') >= 90, ran.stdout);
  const skipped = [...ran.stdout.matchAll(/# SKIP (.*)$/gm)].map(([, reason]) => reason);
  assert.deepEqual(skipped.filter((reason) => reason !== 'Docker may refuse it').sort(), [
    'bubblewrap refuses a user with capabilities',
    'bubblewrap refuses a user with capabilities',
    'root owns what it would reach',
    'this is that user',
  ]);
});
