import assert from 'node:assert/strict';
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Contexts, openTestContexts } from './contexts.ts';

/** What a run may rely on, whichever workspaces it works in. */
const PROMISES: Readonly<Record<string, (contexts: Contexts) => Promise<void>>> = {
  async 'a task lists what it made, changed and deleted, and not what is left out of commits'(contexts) {
    const first = await contexts.task('one', 'mkdir src .scratch; echo 1 > src/a; echo 2 > b; echo 3 > c');
    assert.deepEqual([first.exitCode, first.changed, first.left], [0, ['b', 'c', 'src/a'], undefined]);
    const second = await contexts.task(
      'one',
      'cat src/a c; rm src/a; echo 4 > b; : > é; for f in .scratch/x PROGRESS.json .PROGRESS.json.tmp PROGRESS.invalid-1.json; do echo > $f; done',
    );
    assert.deepEqual([second.stdout, second.changed], ['1\n3\n', ['b', 'src/a', 'é']]);
    const undone = await contexts.task('one', 'echo 5 > b; echo 4 > b; rm c; echo 3 > c; ls .scratch');
    assert.deepEqual([undone.stdout, undone.changed], ['x\n', []]);
  },

  async 'a mode and the target of a link are changes, and an empty folder is none'(contexts) {
    await contexts.task('one', 'echo 1 > run; ln -s run link; ln -s run same');
    const next = await contexts.task('one', 'chmod +x run; ln -sf other link; mkdir empty');
    assert.deepEqual(next.changed, ['link', 'run']);
  },

  async 'contexts share no files, whatever their ids are, and a home lasts from task to task'(contexts) {
    const ids = ['one', '..', 'a/b', 'x'.repeat(200)];
    for (const id of ids)
      assert.equal((await contexts.task(id, 'ls; echo 1 > mine; echo 1 >> "$HOME/kept"')).stdout, '');
    const again = await contexts.task('..', 'ls; cat "$HOME/kept"; echo 1 > "$TMPDIR/x"');
    assert.deepEqual([again.stdout, again.exitCode], ['mine\n1\n', 0], again.stderr);
    assert.equal((await contexts.task('..', 'ls -A "$TMPDIR"')).stdout, '');
    const trees = await contexts.workspaces.trees();
    const found = trees.map(({ dir }) => readdirSync(dir).includes('mine'));
    assert.deepEqual(found, Array(ids.length).fill(true));
    assert.deepEqual(await contexts.workspaces.repoState(), { branch: 'main', clean: true });
  },

  async 'what a task left uncommitted is no change of the next one, which begins clean'(contexts) {
    {
      await using left = await contexts.open('one');
      await left.begin(true);
      await contexts.sh(left, 'echo 1 > left');
    }
    await using next = await (await contexts.restart()).open('one');
    assert.equal(next.beganClean(), false);
    const begun = await next.begin(false);
    assert.ok('base' in begun);
    assert.match(begun.base, /^[0-9a-f]{40}$/);
    assert.equal(next.beganClean(), true);
    await contexts.sh(next, 'cp left mine');
    await next.commit('Task');
    assert.deepEqual(await next.changedSince(begun.base), ['mine']);
  },

  async 'an interrupted task resumes in its folder after a restart, and lists all its work'(contexts) {
    let base = '';
    {
      await using first = await contexts.open('one');
      const begun = await first.begin(true);
      base = 'base' in begun ? begun.base : assert.fail(begun.refused.detail);
      await contexts.sh(first, 'echo 1 > a; echo 1 > "$TMPDIR/kept"');
      await first.leave('Interrupted');
    }
    const restarted = await contexts.restart();
    await using again = await restarted.open('one');
    await again.resume(base);
    assert.equal(again.beganClean(), false);
    const seen = await restarted.sh(again, 'cat a "$TMPDIR/kept"; echo 2 > b');
    assert.equal(seen.stdout, '1\n1\n', seen.stderr);
    await again.commit('Task');
    assert.deepEqual(await again.changedSince(base), ['a', 'b']);
    await assert.rejects(again.resume(`${base}^{tree}`), { code: 'CONFIG_INVALID' });
  },

  async 'a diff shows the current files against the base, before they are committed'(contexts) {
    await contexts.task('one', 'echo old > a; echo gone > b; echo same > c');
    await using workspace = await contexts.open('one');
    const begun = await workspace.begin(true);
    const base = 'base' in begun ? begun.base : assert.fail(begun.refused.detail);
    await contexts.sh(workspace, 'echo new > a; rm b; echo more > d; mkdir .scratch; echo > .scratch/x');
    const diff = await workspace.diffSince(base, 10_000);
    const lines = diff.split('\n').filter((line) => /^(?:diff|---|\+\+\+|[-+]\w)/.test(line));
    assert.deepEqual(lines, [
      ...['diff --git a/a b/a', '--- a/a', '+++ b/a', '-old', '+new'],
      ...['diff --git a/b b/b', '--- a/b', '+++ /dev/null', '-gone'],
      ...['diff --git a/d b/d', '--- /dev/null', '+++ b/d', '+more'],
    ]);
    const cut = await workspace.diffSince(base, 20);
    assert.equal(cut, `${diff.slice(0, 20)}\n[the diff goes on: look at the files]`);
  },

  async 'the gateway and commands use the same files, and no path leads out of the tree'(contexts) {
    await using workspace = await contexts.open('one');
    await workspace.begin(true);
    await using made = await workspace.files.openFile('src/a', 'create');
    await made.write('from the gateway\n');
    assert.equal(
      (await contexts.sh(workspace, 'cat src/a; echo 1 >> src/a; pwd')).stdout.split('\n')[0],
      'from the gateway',
    );
    assert.ok(lstatSync(join(workspace.dir, 'src/a')).isFile());
    await contexts.sh(workspace, `ln -s ${contexts.place.stateDir} out`);
    await assert.rejects(workspace.files.openFile('out/token', 'read'));
    assert.equal((await contexts.sh(workspace, 'exit 7')).exitCode, 7);
  },
};

for (const [what, plain] of [
  ['git', false],
  ['plain folders', true],
] as const)
  for (const [promise, holds] of Object.entries(PROMISES))
    test(`${promise} (${what})`, async (t) => holds(await openTestContexts(t, { plain })));
