import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock as clock } from '@hermes-fleet/protocol/ports';
import { silentLog as log } from '@hermes-fleet/protocol/testing';
import { makeCheckout } from '../../testing/checkout.ts';
import { mortal } from '../../testing/mortal.ts';
import { makePlace } from '../../testing/place.ts';
import { createConfinement } from '../confinement/create-confinement.ts';
import { createGit, type Git } from '../git/git.ts';
import { openBase } from '../stores/base.ts';
import { checkoutOrigin } from '../stores/checkout-origin.ts';
import { openResults } from '../stores/results.ts';
import { openContextTree } from './context-tree.ts';
import { createSavedTrees } from './saved-trees.ts';

test('a gateway that is killed between any two steps of taking a newer commit takes it the next time, and the history is as if it was not', async (t) => {
  const place = makePlace(t);
  const healthy = createGit({ profile: 'neo', clock, log });
  const confinement = await createConfinement({ confine: 'unconfined', ...place, clock, log });
  const mine = makeCheckout(t);
  const first = mine.commit({ 'a.txt': '1\n', 'gone.txt': 'x\n' });
  mine.send(first);
  mine.git('rm', '-q', 'gone.txt');
  const second = mine.commit({ 'a.txt': '2\n', 'new/n.txt': 'n\n' });
  mine.send(second, [first]);

  async function openBaseOf(name: string, commit: string, git: Git = healthy) {
    const dir = join(place.workspaceRoot, name, 'base.git');
    const base = await openBase({ dir, git, confinement, log }, (_, store) =>
      checkoutOrigin(git, store, { remote: undefined, records: undefined, clock, log }),
    );
    const { bundle } = mine.at(commit);
    assert.ok(bundle);
    const start = async (): Promise<string> =>
      (await base.start({ checkout: { commit, open: bundle } })).commit;
    await start();
    return { base, start };
  }

  /** A task of the context that starts from the commit. */
  async function task(name: string, commit: string, git: Git, script: string): Promise<void> {
    const root = join(place.workspaceRoot, name);
    const { base, start } = await openBaseOf(name, commit, git);
    const results = await openResults({ dir: join(root, 'results.git'), base, git, clock, log });
    await using workspace = await openContextTree({
      ...{ name, base, results, git, confinement, clock, log, start, onto: commit },
      repository: null,
      dir: join(place.workspaceRoot, 'contexts', name),
      saved: createSavedTrees(),
      prepare: async () => {},
    });
    assert.ok('base' in (await workspace.begin(true)));
    execFileSync('sh', ['-c', script], { cwd: workspace.dir });
    const { left } = await workspace.commit(script);
    // A task that was killed may have left that, and nothing else.
    const todos = left.map(({ todo }) => todo.replace(/^review r\.txt: left by an earlier task.*/, ''));
    assert.deepEqual(todos.join(''), '', name);
  }

  /** Takes it once more after a crash, and looks at the files and the history. */
  async function takenAgain(name: string): Promise<void> {
    await task(name, second, healthy, 'cat a.txt new/n.txt >> r.txt; test ! -e gone.txt');
    const tree = join(place.workspaceRoot, 'contexts', name, 'tree');
    assert.match(readFileSync(join(tree, 'r.txt'), 'utf8'), /^r\n(s\n)?2\nn\n$/, name);
    const store = join(place.workspaceRoot, name, 'results.git');
    const shown = ['-C', store, 'log', '--format=%s%x09', '--name-only', `fleet/${name}`, `^${second}`];
    const log = execFileSync('git', shown, { encoding: 'utf8' }).trim().split('\n');
    const files = log.filter((line) => line !== '' && !line.endsWith('\t'));
    assert.deepEqual([...new Set(files)], ['r.txt'], `${name}: commits of the caller are not those of tasks`);
    assert.equal(log.filter((line) => line.startsWith('Merge newer')).length, 1, name);
  }

  let killed = true;
  for (let calls = 0; killed; calls += 1) {
    const name = `killed-${calls}`;
    await task(name, first, healthy, 'echo r > r.txt');
    const life = { calls: Number.POSITIVE_INFINITY };
    const git = mortal(healthy, life);
    life.calls = calls;
    killed = await task(name, second, git, 'echo s >> r.txt').then(
      () => false,
      (error: unknown) => {
        assert.equal(error instanceof Error && error.message, 'killed', name);
        return true;
      },
    );
    await takenAgain(name);
  }
  t.diagnostic('killed at each of the calls, and not at all');

  for (const [name, within] of Object.entries({
    written: ['read-tree', '-m', '-u', 'HEAD', second],
    'in-part': ['checkout', '-q', second, '--', 'new'],
  })) {
    await task(name, first, healthy, 'echo r > r.txt');
    const context = join(place.workspaceRoot, 'contexts', name);
    const { env } = process;
    const objects = join(place.workspaceRoot, name, 'base.git/objects');
    await openBaseOf(name, second);
    writeFileSync(join(context, 'moving'), second);
    execFileSync('git', ['-C', join(context, 'tree'), ...within], {
      env: { ...env, GIT_ALTERNATE_OBJECT_DIRECTORIES: objects },
    });
    writeFileSync(join(context, 'tree/.git/index.lock'), '');
    await takenAgain(name);
  }
});
