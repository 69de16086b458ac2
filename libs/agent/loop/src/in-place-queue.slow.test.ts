import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import type { RunEvent } from '@hermes-fleet/protocol/ports';
import { block, makeContext } from '../testing/harness.ts';
import { runBrief, STOPPED, sh } from '../testing/in-place.ts';
import { usersTree } from '../testing/tree.ts';

/** A run that writes a file and holds the tree until `release` is called. */
async function holder(t: TestContext, { write = true, tree = usersTree(t) } = {}) {
  const agent = await tree.agent();
  const holding = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const context = {
    ...makeContext(),
    reportEvent: async (event: RunEvent) => {
      if (event.type !== 'progress' || event.data.phase !== 'ended') return;
      holding.resolve();
      await goOn.promise;
    },
  };
  const held = runBrief(agent, block('held.txt', 'x'), { write, context });
  await holding.promise;
  return { tree, agent, held, release: goOn.resolve };
}

test('concurrent contexts use the tree one at a time, even if a run throws', async (t) => {
  const tree = usersTree(t);
  const agent = await tree.agent();
  const briefs = [0, 1, 2].map((index) =>
    sh('mkdir busy', `echo ${index} >> log; touch ${index}`, 'rmdir busy'),
  );
  const broken = runBrief(agent, 'x', { context: makeContext({ checkpoint: { version: 99 } }) });
  const runs = briefs.map((brief, index) => runBrief(agent, brief, { contextId: `context-${index}` }));
  await assert.rejects(broken, { code: 'INTERNAL' });
  const results = await Promise.all(runs);
  assert.deepEqual(
    results.map(({ status, artifacts }) => [status, artifacts.filesChanged]),
    [0, 1, 2].map((index) => ['done', [String(index), 'log']]),
  );
  assert.equal(tree.read('log'), '0\n1\n2\n');
  assert.deepEqual([tree.log().length, tree.status()], [4, []]);
});

test('a task aborted or paused while it waits for the tree never runs; the next one does', async (t) => {
  const { tree, agent, held, release } = await holder(t);
  const canceled = makeContext();
  const paused = makeContext();
  const waiting = [canceled, paused].map((context, index) =>
    runBrief(agent, block('never.txt', 'x'), { contextId: `waits-${index}`, context }),
  );
  const last = runBrief(agent, block('last.txt', 'x'), { contextId: 'last' });
  const reason = new FleetError('CANCELED', 'the task was canceled');
  canceled.controller.abort(reason);
  paused.pausing.abort(STOPPED);
  await assert.rejects(waiting[0] ?? held, reason);
  await assert.rejects(waiting[1] ?? held, STOPPED);
  assert.equal(tree.log().length, 1, 'the tree is still held');
  const { uncommitted: _, ...state } = { uncommitted: '', ...(await agent.repoState()) };
  assert.deepEqual(state, { branch: 'trunk', clean: false, inUse: true });
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

test('changes of a person have a write task refused, also while another task reads the tree', async (t) => {
  const tree = usersTree(t, { 'mine.txt': 'old' });
  tree.write('mine.txt', 'user');
  const { agent, held, release } = await holder(t, { write: false, tree });
  const state = await agent.repoState();
  const refused = runBrief(agent, block('never.txt', 'x'), { contextId: 'other' });
  const waits = runBrief(agent, sh('true'), { contextId: 'another', write: false });
  release();
  assert.deepEqual([state.clean, 'inUse' in state && state.inUse], [false, false]);
  assert.deepEqual(
    (await refused).unmet?.map(({ kind, transient }) => [kind, transient]),
    [['repo', false]],
  );
  await Promise.all([held, waits]);
});

test('closing the agent ends waiting tasks as well', async (t) => {
  const { agent, held, release } = await holder(t);
  const waits = runBrief(agent, block('never.txt', 'x'), { contextId: 'waits' });
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

test('an interrupted task is resumed before other waiting tasks', async (t) => {
  const { tree, agent, held, release } = await holder(t);
  const other = usersTree(t);
  const context = makeContext({ onSave: () => context.controller.abort(STOPPED) });
  await assert.rejects(runBrief(await other.agent(), sh('echo resumed >> log'), { context }), STOPPED);
  const base = `${tree.git('rev-parse', 'HEAD').trim()}^{commit}`;
  const checkpoint: JsonObject = { ...context.checkpoints[0], base, paused: true };
  const fresh = runBrief(agent, sh('echo fresh >> log'), { contextId: 'fresh' });
  const resumed = runBrief(agent, sh('echo resumed >> log'), { context: makeContext({ checkpoint }) });
  release();
  await Promise.all([held, fresh, resumed]);
  assert.equal(tree.read('log'), 'resumed\nfresh\n');
});
