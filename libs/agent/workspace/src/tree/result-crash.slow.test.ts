import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock as clock } from '@hermes-fleet/protocol/ports';
import { silentLog as log } from '@hermes-fleet/protocol/testing';
import { mortal } from '../../testing/mortal.ts';
import { makePlace } from '../../testing/place.ts';
import { createConfinement } from '../confinement/create-confinement.ts';
import { createGit, type Git } from '../git/git.ts';
import { openBase, ownOrigin } from '../stores/base.ts';
import { openResults } from '../stores/results.ts';
import { openContextTree } from './context-tree.ts';
import { createSavedTrees } from './saved-trees.ts';
import type { Workspace } from './workspace.ts';

test('a gateway that is killed between any two steps of keeping a result loses nothing, and the history is as if it was not', async (t) => {
  const place = makePlace(t);
  const root = place.workspaceRoot;
  const healthy = createGit({ profile: 'neo', clock, log });
  const confinement = await createConfinement({ confine: 'unconfined', ...place, clock, log });
  const start = async (git: Git) => {
    const base = await openBase({ dir: join(root, 'base.git'), git: healthy, confinement, log }, ownOrigin);
    const results = await openResults({ dir: join(root, 'results.git'), base, git: healthy, clock, log });
    const parts = {
      repository: null,
      base,
      start: async () => (await base.start({})).commit,
      prepare: async () => {},
      results: await openResults({ dir: join(root, 'results.git'), base, git, clock, log }),
      git,
      confinement,
      clock,
      log,
    };
    return {
      results,
      open: (name: string): Promise<Workspace> =>
        openContextTree({ ...parts, name, dir: join(root, 'contexts', name), saved: createSavedTrees() }),
    };
  };
  const git = (dir: string, ...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=task', '-c', 'user.email=t@localhost', '-C', dir, ...args], {
      encoding: 'utf8',
    }).trim();
  const begin = async (workspace: Workspace): Promise<string> => {
    const begun = await workspace.begin(true);
    return 'base' in begun ? begun.base : assert.fail();
  };

  let killed = true;
  for (let calls = 0; killed; calls += 1)
    for (const goesOn of [true, false]) {
      const name = `${goesOn ? 'resumed' : 'further'}-${calls}`;
      const life = { calls: Number.POSITIVE_INFINITY };
      const first = await start(mortal(healthy, life));
      const workspace = await first.open(name);
      const began = await begin(workspace);
      writeFileSync(join(workspace.dir, 'a'), '1');
      git(workspace.dir, 'add', 'a');
      git(workspace.dir, 'commit', '-qm', 'own');
      writeFileSync(join(workspace.dir, 'b'), '2');
      life.calls = calls;
      killed = await workspace
        .save()
        .then(() => workspace.commit('First'))
        .then(
          () => false,
          () => true,
        );
      const { open } = await start(healthy);
      if (goesOn && killed) {
        await using again = await open(name);
        await again.resume(began);
        assert.equal((await again.commit('First')).delivery?.base, began, name);
      }
      await using further = await open(name);
      await begin(further);
      writeFileSync(join(further.dir, 'c'), '3');
      const { delivery } = await further.commit('Second');
      const store = join(root, 'results.git');
      assert.equal(git(store, 'ls-tree', '-r', '--name-only', `fleet/${name}`), 'a\nb\nc', name);
      const subjects = git(store, 'log', '--format=%s', `fleet/${name}`).split('\n');
      const middle = goesOn || !killed ? ['First'] : [subjects[1] ?? ''];
      assert.deepEqual(subjects, ['Second', ...middle, 'Start the workspace'], name);
      assert.match(middle.join(), /^(First|What an earlier task left behind)$/);
      assert.equal(
        git(further.dir, 'rev-parse', 'HEAD'),
        delivery?.commit,
        `${name}: the tree has another history`,
      );
    }
  t.diagnostic('killed at each of the calls, and not at all');
  assert.equal(git(join(root, 'results.git'), 'fsck', '--connectivity-only', '--no-dangling'), '');
});
