import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { block, makeAgent, makeContext, makeTask } from '../testing/harness.ts';
import { usersTree } from '../testing/tree.ts';

const sh = (command: string): string => block('sh', command);
const stopped = new FleetError('SHUTTING_DOWN', 'the profile is shutting down');
const KINDS = ['worktree', 'in_place'] as const;

for (const [began, goesOn] of [KINDS, KINDS.toReversed()] as const) {
  test(`a task interrupted in ${began} does not resume in ${goesOn}, which lacks its changes`, async (t) => {
    const tree = usersTree(t);
    const agentIn = (isolation: (typeof KINDS)[number] = 'worktree') =>
      makeAgent(t, { workspace: { path: tree.dir, isolation } }, { place: tree.place });
    const steps = [block('one.txt', '1'), sh('echo ran >> count.txt')].join('\n');
    const context = makeContext({ onSave: (count) => count >= 2 && context.controller.abort(stopped) });
    const agent = await agentIn(began);
    await assert.rejects(agent.executor.run(makeTask(steps), context), stopped);
    await agent.close();
    const [checkpoint = {}] = context.checkpoints.slice(-1);
    tree.write('mine.txt', 'the user’s own');
    const before = tree.status();

    const again = await agentIn(goesOn);
    const resumed = makeContext({ checkpoint });
    await assert.rejects(again.executor.run(makeTask(steps), resumed), {
      code: 'CONFIG_INVALID',
      message: /isolation was changed/,
    });
    assert.deepEqual([tree.status(), tree.log()], [before, ['first']], 'nothing of the user’s is committed');
    assert.equal(resumed.checkpoints.length, 0);
  });
}

for (const isolation of KINDS) {
  test(`a nested repository without a commit is left out and reported, and the task succeeds (${isolation})`, async (t) => {
    const tree = usersTree(t);
    const agent = await makeAgent(t, { workspace: { path: tree.dir, isolation } }, { place: tree.place });
    const run = (brief: string, write: boolean) =>
      agent.executor.run(makeTask(brief, { task: { write } }), makeContext());
    const made = await run([sh('git init -q app; echo x > app/a.txt'), block('b.txt', 'x')].join('\n'), true);
    assert.deepEqual([made.status, made.artifacts.filesChanged], ['done', ['b.txt']]);
    assert.match(made.nextSteps.at(-1) ?? '', /^commit app\/: git cannot take it in/);
    assert.equal((await run(sh('cat app/a.txt'), false)).status, 'done');
    const alone = await run(sh('git init -q app2; mkdir c; git init -q c/d'), false);
    assert.deepEqual([alone.status, alone.artifacts.filesChanged], ['done', []]);
  });
}

test('a stale git lock does not affect the task', async (t) => {
  const agent = await makeAgent(t, {}, { real: true });
  const lock = sh('touch "$(git rev-parse --git-dir)/index.lock"; cat a.txt');
  const { status, artifacts } = await agent.executor.run(
    makeTask([block('a.txt', 'x'), lock].join('\n')),
    makeContext(),
  );
  assert.deepEqual([status, artifacts.filesChanged], ['done', ['a.txt']]);
});
