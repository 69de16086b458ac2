import assert from 'node:assert/strict';
import { chmodSync, existsSync, readdirSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { cannotConfine } from '@hermes-fleet/workspace/testing';
import { block, makeAgent } from '../testing/harness.ts';
import { runBrief, sh } from '../testing/in-place.ts';
import { usersTree } from '../testing/tree.ts';

test('a task works in the user’s tree and commits to the branch that is checked out', async (t) => {
  const tree = usersTree(t, {
    'old.txt': 'a\nb\nc\n',
    'gone.txt': 'x',
    '.gitignore': 'local\n',
    'ü b.txt': '1',
  });
  tree.write('local', 'the user’s own');
  const agent = await tree.agent();
  assert.match(agent.notes.join('\n'), /tasks work in place: nothing keeps one from/);
  assert.deepEqual(await agent.repoState(), { branch: 'trunk', clean: true });
  const brief = [
    block('src/new.txt', 'new'),
    sh('git mv old.txt moved.txt', 'rm gone.txt', 'echo 2 > "ü b.txt"', 'cat local; touch PROGRESS.json'),
  ].join('\n');
  const result = await runBrief(agent, brief);
  assert.equal(result.status, 'done', JSON.stringify(result));
  assert.deepEqual(result.artifacts.filesChanged, [
    'gone.txt',
    'moved.txt',
    'old.txt',
    'src/new.txt',
    'ü b.txt',
  ]);
  assert.deepEqual(tree.log(), ['Done, as the brief says', 'first']);
  assert.deepEqual(tree.status(), ['?? PROGRESS.json'], 'only the agent’s uncommitted notes are left');
  assert.equal(tree.git('symbolic-ref', '--short', 'HEAD').trim(), 'trunk');
  assert.equal(tree.read('local'), 'the user’s own');
  assert.deepEqual(await agent.repoState(), { branch: 'trunk', clean: true });
  assert.deepEqual(readdirSync(join(tree.place.workspaceRoot, 'contexts')), []);

  const idle = await runBrief(agent, sh('true'), { contextId: 'two' });
  assert.deepEqual(idle.artifacts.filesChanged, []);
  assert.equal(tree.log().length, 2, 'nothing changed, nothing to commit');
});

test('without workspace.path the task works in the profile’s own repository', async (t) => {
  const agent = await makeAgent(t, { workspace: { isolation: 'in_place' } });
  const result = await runBrief(agent, block('a.txt', 'x'));
  assert.deepEqual(result.artifacts.filesChanged, ['a.txt']);
  assert.ok(existsSync(join(agent.place.workspaceRoot, 'repo', 'a.txt')));
  assert.deepEqual(await agent.repoState(), { branch: 'main', clean: true });
});

test('in a dirty tree, the task’s changes are reported and the user’s stay untouched', async (t) => {
  const tree = usersTree(t, {
    'edited.txt': 'old',
    'both.txt': 'old',
    'staged.txt': 'old',
    'rm.txt': 'x',
    'clean.txt': 'c',
  });
  tree.write('edited.txt', 'user');
  tree.write('both.txt', 'user');
  tree.write('staged.txt', 'user');
  tree.git('add', 'staged.txt');
  tree.git('rm', '-q', 'rm.txt');
  tree.write('mine.txt', 'user');
  tree.write('doomed.txt', 'user');
  const before = {
    status: tree.status(),
    index: tree.git('ls-files', '--stage'),
    head: tree.git('rev-parse', 'HEAD'),
  };
  const agent = await tree.agent();
  const changed = 'both.txt, edited.txt, rm.txt, staged.txt, doomed.txt and 1 more';
  const uncommitted = `${tree.dir} is dirty (branch trunk; changed: ${changed})`;
  assert.deepEqual(await agent.repoState(), { branch: 'trunk', clean: false, uncommitted, inUse: false });

  const look = await runBrief(agent, sh('cat edited.txt'), { write: false });
  assert.deepEqual([look.status, look.artifacts.filesChanged, look.nextSteps], ['done', [], []]);
  assert.deepEqual(tree.status(), before.status);

  const refused = await runBrief(agent, block('no.txt', 'x'));
  assert.equal(refused.status, 'blocked');
  assert.deepEqual(refused.unmet, [
    {
      kind: 'repo',
      name: 'trunk',
      detail: `the working tree ${uncommitted}, and this is a write task: commit or stash the changes, or send the task with write: false`,
      transient: false,
    },
  ]);

  const brief = [
    block('made.txt', 'new'),
    sh(
      'echo agent >> both.txt',
      'rm doomed.txt clean.txt',
      'touch edited.txt',
      'echo user > user.tmp; rm user.tmp',
    ),
  ].join('\n');
  const result = await runBrief(agent, brief, { write: false });
  assert.deepEqual(result.artifacts.filesChanged, ['both.txt', 'clean.txt', 'doomed.txt', 'made.txt']);
  assert.match(result.nextSteps.at(-1) ?? '', /^commit what changed/);
  assert.equal(tree.git('rev-parse', 'HEAD'), before.head);
  assert.equal(tree.git('ls-files', '--stage'), before.index);
  assert.deepEqual(
    [tree.read('both.txt'), tree.read('edited.txt'), tree.read('staged.txt'), tree.read('mine.txt')],
    ['useragent\n', 'user', 'user', 'user'],
  );
});

test('a write task is refused in the middle of a merge, on a detached HEAD and on an unborn branch', async (t) => {
  const tree = usersTree(t);
  tree.git('checkout', '-q', '-b', 'side');
  tree.git('commit', '-q', '--allow-empty', '-m', 'side');
  tree.git('checkout', '-q', 'trunk');
  tree.git('commit', '-q', '--allow-empty', '-m', 'second');
  const agent = await tree.agent();
  const situations: [begin: string[], reason: RegExp, end: string[]][] = [
    [['merge', '-q', '--no-commit', '--no-ff', 'side'], /in the middle of a merge/, ['merge', '--abort']],
    [['checkout', '-q', '--detach'], /on no branch \(detached HEAD\)/, ['checkout', '-q', 'trunk']],
    [['checkout', '-q', '--orphan', 'bare'], /dirty|without a commit/, ['checkout', '-q', 'trunk']],
  ];
  for (const [begin, reason, end] of situations) {
    tree.git(...begin);
    const refused = await runBrief(agent, block('x.txt', 'x'));
    assert.deepEqual(
      refused.unmet?.map(({ kind, transient }) => [kind, transient]),
      [['repo', false]],
    );
    assert.match(refused.blockedReason ?? '', reason);
    const allowed = await runBrief(agent, block('y.txt', 'y'), { write: false });
    assert.deepEqual([allowed.status, allowed.artifacts.filesChanged], ['done', ['y.txt']]);
    assert.match(allowed.nextSteps.at(-1) ?? '', /^commit what changed/);
    assert.deepEqual(
      tree.status().filter((line) => line.startsWith('??')),
      ['?? y.txt'],
    );
    unlinkSync(join(tree.dir, 'y.txt'));
    tree.git(...end);
  }
  assert.deepEqual([tree.log(), tree.status()], [['second', 'first'], []]);
  assert.equal((await runBrief(agent, block('x.txt', 'x'))).status, 'done');
});

test('a task that switches the branch commits there; one that ends detached or in a merge does not commit', async (t) => {
  const tree = usersTree(t);
  const agent = await tree.agent();
  const moved = await runBrief(agent, sh('git checkout -q -b feature', 'echo x > x.txt'));
  assert.deepEqual([moved.status, moved.artifacts.filesChanged], ['done', ['x.txt']]);
  assert.deepEqual([tree.log(), tree.status()], [['Done, as the brief says', 'first'], []]);
  assert.deepEqual(await agent.repoState(), { branch: 'feature', clean: true });
  assert.equal(tree.git('log', '--format=%s', 'trunk').trim(), 'first');
  const [first, made] = ['trunk', 'feature'].map((branch) => tree.git('rev-parse', branch).trim());
  const kept = { repository: 'project', state: 'kept' };
  assert.deepEqual(moved.artifacts.delivery, { ...kept, branch: 'feature', base: first, commit: made });

  const lost = await runBrief(agent, sh('git checkout -q --detach', 'echo y > y.txt'));
  assert.deepEqual(lost.artifacts.filesChanged, ['y.txt']);
  assert.match(lost.nextSteps.at(-1) ?? '', /^commit what changed: the working tree is on no branch/);
  assert.equal(lost.artifacts.delivery?.commit, null);
  assert.deepEqual(tree.status(), ['?? y.txt']);
  tree.git('checkout', '-q', 'feature');
  tree.git('add', 'y.txt');
  tree.git('commit', '-q', '-m', 'by the user');

  const merge = sh(
    'git checkout -q trunk; echo other > x.txt; git add x.txt; git commit -q -m other',
    'git merge feature || true',
  );
  const conflict = await runBrief(agent, merge);
  assert.deepEqual(conflict.artifacts.filesChanged, ['x.txt']);
  assert.match(conflict.nextSteps.at(-1) ?? '', /in the middle of a merge/);
  assert.deepEqual(tree.log(), ['other', 'first']);
  assert.ok(tree.has('.git/MERGE_HEAD'));
  tree.git('merge', '--abort');

  const orphan = await runBrief(agent, sh('git checkout -q --orphan bare; echo z > z.txt'));
  assert.match(orphan.nextSteps.at(-1) ?? '', /on a branch without a commit: make the first one/);
  assert.deepEqual(
    [orphan.artifacts.filesChanged, orphan.artifacts.delivery?.commit, orphan.artifacts.delivery?.branch],
    [['z.txt'], null, 'bare'],
  );
});

test('commands can write only inside the tree', { skip: cannotConfine('bubblewrap') }, async (t) => {
  const tree = usersTree(t);
  const agent = await makeAgent(
    t,
    { workspace: { path: tree.dir, isolation: 'in_place' }, tools: { shell: { confine: 'bubblewrap' } } },
    { place: tree.place },
  );
  const contexts = join(tree.place.workspaceRoot, 'contexts');
  const attempts = [
    'touch ../beside',
    `touch ${contexts}/x`,
    `touch ${tree.place.stateDir}/x`,
    'git config core.fsmonitor false',
    'touch .git/hooks/pre-commit',
    'mv .git .moved',
  ].map((attempt) => `if ${attempt}; then echo "${attempt}" >> leaks; fi`);
  const result = await runBrief(agent, sh(attempts.join('; '), 'echo in > in.txt; git log -1'));
  assert.equal(result.status, 'done', JSON.stringify(result));
  assert.deepEqual(result.artifacts.filesChanged, ['in.txt']);
});

test('a tree that commands cannot write to is a configuration error', async (t) => {
  const tree = usersTree(t);
  chmodSync(tree.dir, 0o555);
  const made = tree.agent();
  await assert.rejects(made, { code: 'CONFIG_INVALID', message: /cannot write to its working tree/ });
});
