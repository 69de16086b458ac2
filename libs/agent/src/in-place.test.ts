import assert from 'node:assert/strict';
import { chmodSync, existsSync, readdirSync, unlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FleetError, type JsonObject, type RunEvent } from '@hermes-fleet/protocol';
import { cannotConfine } from '@hermes-fleet/workspace/testing';
import type { Agent } from './agent.ts';
import { block, makeAgent, makeContext, makeTask, type TestRun } from './testing/harness.ts';
import { usersTree } from './testing/tree.ts';

const sh = (...lines: string[]): string => lines.map((line) => block('sh', line)).join('\n');
const run = (
  agent: Agent,
  brief: string,
  o: { contextId?: string; write?: boolean; context?: TestRun } = {},
) => {
  const { contextId = 'one', write, context = makeContext() } = o;
  return agent.executor.run(
    makeTask(brief, { contextId, task: write === undefined ? {} : { write } }),
    context,
  );
};
const stopped = new FleetError('SHUTTING_DOWN', 'the profile is shutting down');

test('a task works in the user’s tree and commits to the branch that is checked out', async (t) => {
  const tree = usersTree(t, {
    'old.txt': 'a\nb\nc\n',
    'gone.txt': 'x',
    '.gitignore': 'local\n',
    'ü b.txt': '1',
  });
  tree.write('local', 'the user’s own');
  const agent = await tree.agent();
  assert.deepEqual(await agent.repoState(), { branch: 'trunk', clean: true });
  const brief = [
    block('src/new.txt', 'new'),
    sh('git mv old.txt moved.txt', 'rm gone.txt', 'echo 2 > "ü b.txt"', 'cat local; touch PROGRESS.json'),
  ].join('\n');
  const result = await run(agent, brief);
  assert.equal(result.status, 'done', JSON.stringify(result));
  assert.deepEqual(result.artifacts.filesChanged, [
    'gone.txt',
    'moved.txt',
    'old.txt',
    'src/new.txt',
    'ü b.txt',
  ]);
  assert.deepEqual(tree.log(), ['Task task', 'first']);
  assert.deepEqual(tree.status(), ['?? PROGRESS.json'], 'only the agent’s uncommitted notes are left');
  assert.equal(tree.git('symbolic-ref', '--short', 'HEAD').trim(), 'trunk');
  assert.equal(tree.read('local'), 'the user’s own');
  assert.deepEqual(await agent.repoState(), { branch: 'trunk', clean: true });
  assert.deepEqual(readdirSync(join(tree.place.workspaceRoot, 'contexts')), []);

  const idle = await run(agent, sh('true'), { contextId: 'two' });
  assert.deepEqual(idle.artifacts.filesChanged, []);
  assert.equal(tree.log().length, 2, 'nothing changed, nothing to commit');
});

test('without workspace.path the task works in the profile’s own repository', async (t) => {
  const agent = await makeAgent(t, { workspace: { isolation: 'in_place' } });
  const result = await run(agent, block('a.txt', 'x'));
  assert.deepEqual(result.artifacts.filesChanged, ['a.txt']);
  assert.ok(existsSync(join(agent.place.workspaceRoot, 'repo', 'a.txt')));
  assert.deepEqual(await agent.repoState(), { branch: 'main', clean: true });
});

test('concurrent contexts use the tree one at a time, even if a run throws', async (t) => {
  const tree = usersTree(t);
  const agent = await tree.agent();
  const briefs = [0, 1, 2].map((index) =>
    sh('mkdir busy', `echo ${index} >> log; touch ${index}`, 'rmdir busy'),
  );
  const broken = run(agent, 'x', { context: makeContext({ checkpoint: { version: 99 } }) });
  const runs = briefs.map((brief, index) => run(agent, brief, { contextId: `context-${index}` }));
  await assert.rejects(broken, { code: 'INTERNAL' });
  const results = await Promise.all(runs);
  assert.deepEqual(
    results.map(({ status, artifacts }) => [status, artifacts.filesChanged]),
    [0, 1, 2].map((index) => ['done', [String(index), 'log']]),
  );
  assert.equal(tree.read('log'), '0\n1\n2\n');
  assert.deepEqual([tree.log().length, tree.status()], [4, []]);
});

/** A run that writes a file and holds the tree until `release` is called. */
async function holder(t: TestContext) {
  const tree = usersTree(t);
  const agent = await tree.agent();
  const holding = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const context = {
    ...makeContext(),
    report: async (event: RunEvent) => {
      if (event.type !== 'progress' || event.data.phase !== 'ended') return;
      holding.resolve();
      await goOn.promise;
    },
  };
  const held = run(agent, block('held.txt', 'x'), { context });
  await holding.promise;
  return { tree, agent, held, release: goOn.resolve };
}

test('a task aborted or paused while it waits for the tree never runs; the next one does', async (t) => {
  const { tree, agent, held, release } = await holder(t);
  const canceled = makeContext();
  const paused = makeContext();
  const waiting = [canceled, paused].map((context, index) =>
    run(agent, block('never.txt', 'x'), { contextId: `waits-${index}`, context }),
  );
  const last = run(agent, block('last.txt', 'x'), { contextId: 'last' });
  const reason = new FleetError('CANCELED', 'the task was canceled');
  canceled.controller.abort(reason);
  paused.pausing.abort(stopped);
  await assert.rejects(waiting[0] ?? held, reason);
  await assert.rejects(waiting[1] ?? held, stopped);
  assert.equal(tree.log().length, 1, 'the tree is still held');
  assert.equal((await agent.repoState()).clean, false);
  release();
  assert.deepEqual((await held).artifacts.filesChanged, ['held.txt']);
  assert.deepEqual((await last).artifacts.filesChanged, ['last.txt']);
  assert.equal(
    (await agent.repoState()).clean,
    true,
    'the state measured during the run is no longer cached',
  );
  assert.equal(tree.has('never.txt'), false);
  assert.equal(canceled.checkpoints.length + paused.checkpoints.length, 0);
});

test('closing the agent ends waiting tasks as well', async (t) => {
  const { agent, held, release } = await holder(t);
  const waits = run(agent, block('never.txt', 'x'), { contextId: 'waits' });
  const ends = Promise.allSettled([held, waits]);
  const closed = agent.close();
  await assert.rejects(waits, { code: 'SHUTTING_DOWN' });
  release();
  await closed;
  assert.deepEqual(
    (await ends).map((end) => end.status === 'rejected' && end.reason.code),
    ['SHUTTING_DOWN', 'SHUTTING_DOWN'],
  );
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
  assert.deepEqual(await agent.repoState(), { branch: 'trunk', clean: false });

  const look = await run(agent, sh('cat edited.txt'), { write: false });
  assert.deepEqual([look.status, look.artifacts.filesChanged, look.nextSteps], ['done', [], []]);
  assert.deepEqual(tree.status(), before.status);

  const refused = await run(agent, block('no.txt', 'x'));
  assert.equal(refused.status, 'blocked');
  assert.deepEqual(refused.unmet, [
    {
      kind: 'repo',
      name: 'trunk',
      detail: 'the working tree is dirty (branch trunk); this is a write task',
      transient: true,
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
  const result = await run(agent, brief, { write: false });
  assert.deepEqual(result.artifacts.filesChanged, ['both.txt', 'clean.txt', 'doomed.txt', 'made.txt']);
  assert.match(result.nextSteps.at(-1) ?? '', /^commit what changed/);
  assert.equal(tree.git('rev-parse', 'HEAD'), before.head);
  assert.equal(tree.git('ls-files', '--stage'), before.index);
  assert.deepEqual(
    [tree.read('both.txt'), tree.read('edited.txt'), tree.read('staged.txt'), tree.read('mine.txt')],
    ['useragent\n', 'user', 'user', 'user'],
  );
});

const STEPS = [block('one.txt', '1'), sh('echo ran >> count.txt', 'git mv README.md READ.md')].join('\n');

for (const dirty of [false, true]) {
  test(`an interrupted task resumes with its changes (in a ${dirty ? 'dirty' : 'clean'} tree)`, async (t) => {
    const total = await (async () => {
      const context = makeContext();
      await run(await usersTree(t).agent(), STEPS, { context });
      return context.checkpoints.length;
    })();
    for (let saves = 1; saves <= total; saves += 1) {
      const tree = usersTree(t);
      if (dirty) tree.write('mine.txt', 'user');
      const agent = await tree.agent();
      const context = makeContext({ onSave: (count) => count >= saves && context.controller.abort(stopped) });
      const end = run(agent, STEPS, { context, write: !dirty });
      if (saves < total) await assert.rejects(end, stopped);
      else await end.catch(() => {});
      const [checkpoint] = context.checkpoints.slice(saves - 1);
      assert.ok(checkpoint);
      await agent.close();

      const again = await tree.agent();
      const begun = tree.has('one.txt');
      if (saves < total) assert.deepEqual(tree.log(), ['first'], 'unfinished work is not committed');
      if (begun && saves < total) {
        assert.equal((await again.repoState()).clean, false);
        assert.equal((await run(again, block('b.txt', 'x'), { contextId: 'other' })).status, 'blocked');
      }
      const result = await run(again, STEPS, { write: !dirty, context: makeContext({ checkpoint }) });
      if (result.status === 'done')
        assert.deepEqual(result.artifacts.filesChanged, ['READ.md', 'README.md', 'count.txt', 'one.txt']);
      else assert.match(result.text ?? '', /outcome unknown/);
      if (dirty) {
        assert.deepEqual(tree.log(), ['first']);
        assert.equal(tree.read('mine.txt'), 'user');
      } else {
        assert.deepEqual([tree.log(), tree.status()], [['Task task', 'first'], []]);
        assert.equal((await again.repoState()).clean, true);
      }
    }
  });
}

test('an interrupted task is resumed before other waiting tasks', async (t) => {
  const { tree, agent, held, release } = await holder(t);
  const other = usersTree(t);
  const context = makeContext({ onSave: () => context.controller.abort(stopped) });
  await assert.rejects(run(await other.agent(), sh('echo resumed >> log'), { context }), stopped);
  const base = `${tree.git('rev-parse', 'HEAD').trim()}^{commit}`;
  const checkpoint: JsonObject = { ...context.checkpoints[0], base, paused: true };
  const fresh = run(agent, sh('echo fresh >> log'), { contextId: 'fresh' });
  const resumed = run(agent, sh('echo resumed >> log'), { context: makeContext({ checkpoint }) });
  release();
  await Promise.all([held, fresh, resumed]);
  assert.equal(tree.read('log'), 'resumed\nfresh\n');
});

test('a resume removes the git lock of a crash; a lock that is held blocks a write task', async (t) => {
  const tree = usersTree(t);
  const lock = join(tree.dir, '.git/index.lock');
  const context = makeContext({ onSave: (count) => count === 2 && context.controller.abort(stopped) });
  const agent = await tree.agent();
  await assert.rejects(run(agent, STEPS, { context }), stopped);
  tree.write('.git/index.lock', '');
  utimesSync(lock, new Date(0), new Date(0));
  const again = await tree.agent();
  const resumed = await run(again, STEPS, {
    context: makeContext({ checkpoint: context.checkpoints[1] ?? {} }),
  });
  assert.equal(resumed.status, 'done', JSON.stringify(resumed));
  assert.deepEqual([tree.log().length, tree.status()], [2, []]);

  tree.write('.git/index.lock', '');
  const refused = await run(again, block('x.txt', 'x'));
  assert.match(refused.blockedReason ?? '', /^the working tree is locked by a git command/);
  unlinkSync(lock);
  assert.equal((await run(again, block('x.txt', 'x'))).status, 'done');
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
    const refused = await run(agent, block('x.txt', 'x'));
    assert.deepEqual([refused.status, refused.unmet?.[0]?.kind], ['blocked', 'repo']);
    assert.match(refused.blockedReason ?? '', reason);
    const allowed = await run(agent, block('y.txt', 'y'), { write: false });
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
  assert.equal((await run(agent, block('x.txt', 'x'))).status, 'done');
});

test('a task that switches the branch commits there; one that ends detached or in a merge does not commit', async (t) => {
  const tree = usersTree(t);
  const agent = await tree.agent();
  const moved = await run(agent, sh('git checkout -q -b feature', 'echo x > x.txt'));
  assert.deepEqual([moved.status, moved.artifacts.filesChanged], ['done', ['x.txt']]);
  assert.deepEqual([tree.log(), tree.status()], [['Task task', 'first'], []]);
  assert.deepEqual(await agent.repoState(), { branch: 'feature', clean: true });
  assert.equal(tree.git('log', '--format=%s', 'trunk').trim(), 'first');

  const lost = await run(agent, sh('git checkout -q --detach', 'echo y > y.txt'));
  assert.deepEqual(lost.artifacts.filesChanged, ['y.txt']);
  assert.match(lost.nextSteps.at(-1) ?? '', /^commit what changed: the working tree is on no branch/);
  assert.deepEqual(tree.status(), ['?? y.txt']);
  tree.git('checkout', '-q', 'feature');
  tree.git('add', 'y.txt');
  tree.git('commit', '-q', '-m', 'by the user');

  const merge = sh(
    'git checkout -q trunk; echo other > x.txt; git add x.txt; git commit -q -m other',
    'git merge feature || true',
  );
  const conflict = await run(agent, merge);
  assert.deepEqual(conflict.artifacts.filesChanged, ['x.txt']);
  assert.match(conflict.nextSteps.at(-1) ?? '', /in the middle of a merge/);
  assert.deepEqual(tree.log(), ['other', 'first']);
  assert.ok(tree.has('.git/MERGE_HEAD'));
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
  const result = await run(agent, sh(attempts.join('; '), 'echo in > in.txt; git log -1'));
  assert.equal(result.status, 'done', JSON.stringify(result));
  assert.deepEqual(result.artifacts.filesChanged, ['in.txt']);
});

test('a tree that commands cannot write to is a configuration error', async (t) => {
  const tree = usersTree(t);
  chmodSync(tree.dir, 0o555);
  const made = tree.agent();
  await assert.rejects(made, { code: 'CONFIG_INVALID', message: /cannot write to the working tree/ });
});
