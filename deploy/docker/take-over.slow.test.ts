import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { fixture } from '../../test/fixtures/pack.ts';
import { withoutEngine } from '../../test/support/engine.ts';
import { docker, startOpenContainer } from '../../test/support/profile-container.ts';
import { call, dispatch, message, resultOf, runbook } from '../../test/support/rpc.ts';

const image = 'hermes-fleet:take-over-test';

/**
 * Owners and modes as the image of 0.1.0 had them: the gateway (1000) made the folders and what its file tools wrote; git
 * and the commands (1001) made everything else. Some of it is not committed, and some is closed to the gateway.
 */
const AS_0_1_0 = `set -e
tar -C /workspace --no-same-owner -xzf /fixture.tar.gz
cd /workspace
git -C repo -c safe.directory=* worktree repair /workspace/contexts/*
chown -R 1001:1001 repo/.git contexts
chown 1000:1001 . repo contexts contexts/kitchen/lamp.txt
chmod 0750 .; chmod 2770 repo contexts; chmod 0660 contexts/kitchen/lamp.txt
cd contexts/kitchen
echo open > open.txt; mkdir closed; echo closed > closed/file.txt; chown -R 1001:1001 open.txt closed
chmod 0600 open.txt; chmod 0700 closed
git -C /workspace/repo -c safe.directory=* for-each-ref --format='%(objectname) %(refname)' refs/heads/fleet`;

test('a workspace of 0.1.0 with the owners of its image is taken over, and no branch is lost', {
  skip: withoutEngine(),
  timeout: 500_000,
}, async (t) => {
  const volume = `hermes-test-${randomBytes(4).toString('hex')}`;
  t.after(() => {
    docker(['volume', 'rm', '--force', volume]);
    docker(['image', 'rm', image]);
  });
  const base = process.env.NODE_IMAGE ? ['--build-arg', `BASE_IMAGE=${process.env.NODE_IMAGE}`] : [];
  const built = docker(
    ['build', '--file', 'deploy/docker/Dockerfile', ...base, '--tag', image, '.'],
    280_000,
  );
  assert.equal(built.status, 0, built.stderr);
  const mounts = [`${volume}:/workspace`, `${fixture('0.1.0', 'neo.workspace.tar.gz')}:/fixture.tar.gz:ro`];
  const volumes = mounts.flatMap((mount) => ['--volume', mount]);
  const made = docker(['run', '--rm', ...volumes, '--entrypoint', 'sh', image, '-c', AS_0_1_0]);
  assert.equal(made.status, 0, made.stderr);
  const branches = made.stdout.split('\n').filter((line) => line.includes(' refs/heads/fleet/'));
  assert.equal(branches.length, 6, made.stdout);

  // The container is removed before the volume and the image.
  await t.test('the profile starts and goes on with every context', async (st) => {
    const neo = await startOpenContainer(st, { image, workspace: volume });
    const git = (args: string): string => neo.inside(`git --git-dir=/workspace/results.git ${args}`);
    for (const [commit, ref] of branches.map((line) => line.split(' ')))
      assert.equal(git(`merge-base ${commit} ${ref}`).trim(), commit, ref);
    assert.equal(neo.inside('git -c safe.directory=* -C /workspace/repo for-each-ref | wc -l').trim(), '7');
    assert.match(neo.log(), /the contexts of an older version were taken over/);
    assert.match(
      git('ls-tree -r --name-only fleet/kitchen'),
      /closed\/file\.txt[\s\S]*lamp\.txt[\s\S]*open\.txt/,
    );

    const run = async (contextId: string, ...commands: string[]) => {
      const brief = runbook('new.txt', 'new', ...commands);
      const sent = message(dispatch({ brief }), { contextId });
      const { body } = await call({ url: neo.url, token: undefined }, 'SendMessage', sent);
      return resultOf(body.result?.task);
    };
    const kitchen = await run(
      'kitchen',
      'cat soup.txt lamp.txt open.txt closed/file.txt; stat -c %U:%a open.txt lamp.txt; id -un; git log --format=%s',
    );
    assert.equal(kitchen.status, 'done', JSON.stringify(kitchen));
    assert.deepEqual(kitchen.artifacts.files_changed, ['new.txt']);
    const [, user] = /\n\s*(context-\d+):\d+\n/.exec(kitchen.text) ?? assert.fail(kitchen.text);
    assert.match(kitchen.text, /open\s+closed\s/);
    assert.equal(kitchen.text.split(`${user}`).length, 4, `all files are the context's own: ${kitchen.text}`);
    for (const context of ['porch', 'cellar'])
      assert.equal((await run(context, 'ls')).status, 'done', context);
  });
});
