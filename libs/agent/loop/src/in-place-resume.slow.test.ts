import assert from 'node:assert/strict';
import { unlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Agent } from '../src/agent.ts';
import { block, makeContext } from '../testing/harness.ts';
import { runBrief, STOPPED, sh } from '../testing/in-place.ts';
import { usersTree } from '../testing/tree.ts';

const STEPS = [block('one.txt', '1'), sh('echo ran >> count.txt', 'git mv README.md READ.md')].join('\n');

for (const dirty of [false, true]) {
  test(`an interrupted task resumes with its changes (in a ${dirty ? 'dirty' : 'clean'} tree)`, async (t) => {
    const total = await (async () => {
      const context = makeContext();
      await runBrief(await usersTree(t).agent(), STEPS, { context });
      return context.checkpoints.length;
    })();
    for (let saves = 1; saves <= total; saves += 1) {
      const tree = usersTree(t);
      if (dirty) tree.write('mine.txt', 'user');
      const agent = await tree.agent();
      const context = makeContext({ onSave: (count) => count >= saves && context.controller.abort(STOPPED) });
      const end = runBrief(agent, STEPS, { context, write: !dirty });
      if (saves < total) await assert.rejects(end, STOPPED);
      else await end.catch(() => {});
      const [checkpoint] = context.checkpoints.slice(saves - 1);
      assert.ok(checkpoint);
      const begun = tree.has('one.txt');
      const inUse = async (of: Agent) => {
        const state = await of.repoState();
        return !state.clean && state.inUse;
      };
      if (saves < total) assert.equal(await inUse(agent), begun && !dirty, 'until the next start');
      await agent.close();

      const interrupted = { id: 'task-1', rootId: 'task-1' };
      let unfinished = [interrupted];
      const again = await tree.agent({
        unfinished: () => unfinished,
        checkpoint: (id) => (id === interrupted.id ? checkpoint : undefined),
      });
      if (saves < total) assert.deepEqual(tree.log(), ['first'], 'unfinished work is not committed');
      if (begun && saves < total) {
        assert.equal(await inUse(again), !dirty);
        const refused = await runBrief(again, block('b.txt', 'x'), { contextId: 'other' });
        assert.deepEqual([refused.status, refused.unmet?.[0]?.transient], ['blocked', !dirty]);
        unfinished = [];
        assert.equal(await inUse(again), false, 'nobody continues it');
      }
      const result = await runBrief(again, STEPS, { write: !dirty, context: makeContext({ checkpoint }) });
      if (result.status === 'done')
        assert.deepEqual(result.artifacts.filesChanged, ['READ.md', 'README.md', 'count.txt', 'one.txt']);
      else assert.match(result.text ?? '', /outcome unknown/);
      if (dirty) {
        assert.deepEqual(tree.log(), ['first']);
        assert.equal(tree.read('mine.txt'), 'user');
      } else {
        const subject = result.status === 'done' ? 'Done, as the brief says' : 'Stopped';
        assert.deepEqual([tree.log(), tree.status()], [[subject, 'first'], []]);
        assert.equal((await again.repoState()).clean, true);
      }
    }
  });
}

test('a resume removes the git lock of a crash; a lock that is held blocks a write task', async (t) => {
  const tree = usersTree(t);
  const lock = join(tree.dir, '.git/index.lock');
  const context = makeContext({ onSave: (count) => count === 2 && context.controller.abort(STOPPED) });
  const agent = await tree.agent();
  await assert.rejects(runBrief(agent, STEPS, { context }), STOPPED);
  tree.write('.git/index.lock', '');
  utimesSync(lock, new Date(0), new Date(0));
  const again = await tree.agent();
  const resumed = await runBrief(again, STEPS, {
    context: makeContext({ checkpoint: context.checkpoints[1] ?? {} }),
  });
  assert.equal(resumed.status, 'done', JSON.stringify(resumed));
  assert.deepEqual([tree.log().length, tree.status()], [2, []]);

  tree.write('.git/index.lock', '');
  const refused = await runBrief(again, block('x.txt', 'x'));
  assert.match(refused.blockedReason ?? '', /^the working tree \S+ is locked by a git command/);
  assert.equal(refused.unmet?.[0]?.transient, true, 'the command may end');
  unlinkSync(lock);
  assert.equal((await runBrief(again, block('x.txt', 'x'))).status, 'done');
});
