import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Clock, systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { anchoredFiles, createConfinement, type OpenTree } from '@hermes-fleet/workspace';
import { cannotConfine, commandsFolder, makePlace } from '@hermes-fleet/workspace/testing';
import { block, makeAgent, makeContext, makeTask } from '../../testing/harness.ts';
import { sweepScratch, type UnfinishedTask } from './scratchpad-sweep.ts';

const DAY_S = 86_400;
const NOW_S = 2_000_000_000;
const at = (now: number): Clock => ({ ...systemClock, now: () => now * 1000 });

async function treesOf(t: TestContext, confine: 'auto' | 'bubblewrap' | 'uid' = 'auto') {
  const place = makePlace(t);
  const confinement = await createConfinement({ confine, ...place, clock: systemClock, log: silentLog });
  const contexts = await commandsFolder(place, confinement);
  const trees = ['one', 'two'].map((name) => join(contexts, name));
  for (const tree of trees) {
    await using made = await anchoredFiles(contexts, confinement.otherUser).openFolder(tree, { make: true });
    assert.ok(made);
  }
  const [one = '', two = ''] = trees;
  /** Creates a file in a tree; it and its directory were last changed this many days ago. */
  const put = async (tree: string, path: string, days: number): Promise<void> => {
    const files = anchoredFiles(tree, confinement.otherUser);
    await (await files.openFile(path, 'create')).close();
    const used = NOW_S - days * DAY_S;
    utimesSync(join(tree, path), used, used);
    utimesSync(join(tree, dirname(path)), used, used);
  };
  const opened = (dir: string): OpenTree => ({
    dir,
    files: anchoredFiles(dir, confinement.otherUser),
    wrap: (command, args) => confinement.wrap(command, args, { writable: [dir], readOnly: [] }),
    [Symbol.asyncDispose]: async () => {},
  });
  const sweep = (options: { unfinished?: UnfinishedTask[]; nowS?: number; keepDays?: number } = {}) =>
    sweepScratch(
      {
        ids: systemIds,
        log: silentLog,
        keepDays: options.keepDays ?? 7,
        clock: at(options.nowS ?? NOW_S),
        workspaces: { trees: async () => trees.map((dir) => ({ dir, openTree: async () => opened(dir) })) },
        unfinished: () => options.unfinished ?? [],
      },
      new AbortController().signal,
    );
  const left = (tree: string, path = ''): string[] => readdirSync(join(tree, '.scratch', path)).sort();
  return { place, one, two, put, sweep, left };
}

for (const confine of ['bubblewrap', 'uid'] as const) {
  test(`only scratchpads and outputs unused for keepDays are removed, from every tree (${confine})`, {
    skip: cannotConfine(confine),
  }, async (t) => {
    const { one, two, put, sweep, left } = await treesOf(t, confine);
    await put(one, '.scratch/old/a.md', 8);
    await put(one, '.scratch/old/deep/er/b', 8);
    await put(one, '.scratch/new/a.md', 6);
    await put(one, '.scratch/mixed/old.md', 30);
    await put(one, '.scratch/mixed/.used', 1);
    await put(one, '.scratch/outputs/t1-0.1.txt', 8);
    await put(one, '.scratch/outputs/t2-0.1.txt', 6);
    await put(one, '.scratch/home/.cache', 90);
    await put(one, 'src/a.ts', 90);
    await put(two, '.scratch/old/a.md', 8);
    assert.equal(await sweep(), 3);
    assert.deepEqual(left(one), ['home', 'mixed', 'new', 'outputs']);
    assert.deepEqual(left(one, 'outputs'), ['t2-0.1.txt']);
    assert.deepEqual(left(one, 'home'), ['.cache']);
    assert.deepEqual(left(two), []);
    assert.equal(existsSync(join(one, 'src/a.ts')), true);
    assert.equal(await sweep(), 0);
    assert.equal(await sweep({ nowS: NOW_S + 2 * DAY_S }), 2);
    assert.deepEqual(left(one), ['home', 'mixed', 'outputs']);
  });
}

test('scratchpads and outputs of unfinished tasks stay, whatever their age', async (t) => {
  const { one, put, sweep, left } = await treesOf(t);
  await put(one, '.scratch/root-1/a', 90);
  await put(one, '.scratch/root-2/a', 90);
  await put(one, '.scratch/outputs/id_1-0.1.txt', 90);
  await put(one, '.scratch/outputs/id-2-0.1.txt', 90);
  const unfinished = [{ id: 'id-1', rootId: 'root-1' }];
  assert.equal(await sweep({ unfinished, keepDays: 0 }), 2);
  assert.deepEqual(left(one), ['outputs', 'root-1']);
  assert.deepEqual(left(one, 'outputs'), ['id_1-0.1.txt']);
});

test('the outputs of a context stay as long as its tree, and its scratchpads do not', async (t) => {
  const place = makePlace(t);
  const first = await makeAgent(t, {}, { place, real: true });
  const brief = `${block('.scratch/old/a.md', 'x')}\n${block('.scratch/outputs/t1-0.1.txt', 'x')}`;
  await first.executor.run(makeTask(brief), makeContext());
  await first.close();
  const scratch = join(place.workspaceRoot, 'contexts/context-1/tree/.scratch');
  const swept = Promise.withResolvers<void>();
  const clock: Clock = {
    ...systemClock,
    now: () => Date.now() + 8 * DAY_S * 1000,
    sleep(ms, signal) {
      if (ms === DAY_S * 1000) swept.resolve();
      return systemClock.sleep(ms, signal);
    },
  };
  await makeAgent(t, { scratch: { keep_days: 7 } }, { place, clock, real: true });
  await swept.promise;
  assert.equal(existsSync(join(scratch, 'old')), false);
  assert.deepEqual(readdirSync(join(scratch, 'outputs')), ['t1-0.1.txt']);
});

test('a symlink is removed, never followed', async (t) => {
  const { place, one, two, put, sweep, left } = await treesOf(t);
  const outside = join(place.stateDir, '..', 'outside');
  mkdirSync(outside);
  writeFileSync(join(outside, 'kept'), 'x');
  await put(one, '.scratch/old/a', 8);
  symlinkSync(outside, join(one, '.scratch/link'));
  symlinkSync(outside, join(one, '.scratch/old/link'));
  symlinkSync(outside, join(one, '.scratch/outputs'));
  symlinkSync(outside, join(two, '.scratch'));
  utimesSync(join(one, '.scratch/old'), 0, 0);
  utimesSync(outside, 0, 0);
  assert.equal(await sweep(), 3);
  assert.deepEqual(left(one), []);
  assert.deepEqual(readdirSync(outside), ['kept']);
});

test('the leftovers of an interrupted sweep are removed by the next', async (t) => {
  const { one, put, sweep, left } = await treesOf(t);
  await put(one, '.scratch/.swept-1/a', 0);
  await put(one, '.scratch/new/a', 0);
  assert.equal(await sweep(), 0);
  assert.deepEqual(left(one), ['new']);
});

test('an agent sweeps at its start and daily until it is closed, and spares running tasks', async (t) => {
  const place = makePlace(t);
  let now = Date.now();
  const naps: { ms: number; wake: () => void; signal: AbortSignal | undefined }[] = [];
  let napping = Promise.withResolvers<void>();
  const clock: Clock = {
    ...systemClock,
    now: () => now,
    sleep: (ms, signal) => {
      if (ms < 3_600_000) return systemClock.sleep(ms, signal);
      return new Promise((wake, reject) => {
        naps.push({ ms, wake, signal });
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
        napping.resolve();
      });
    },
  };
  const first = await makeAgent(t, {}, { place });
  const write = (name: string) => makeTask(block(`.scratch/${name}/a.md`, 'x'));
  await first.executor.run(write('old'), makeContext());
  await first.close();
  const scratch = join(place.workspaceRoot, 'contexts/context-1/tree/.scratch');
  now += 6 * DAY_S * 1000;
  const agent = await makeAgent(t, { scratch: { keep_days: 7 } }, { place, clock });
  await napping.promise;
  assert.ok(readdirSync(scratch).includes('old'), 'not old enough at the start');
  assert.deepEqual(
    naps.map(({ ms }) => ms),
    [DAY_S * 1000],
  );
  let swept: string[] = [];
  const running = makeContext();
  const task = makeTask(block('.scratch/running/a.md', 'x'), { task: { taskId: 'running' } });
  await agent.executor.run(task, {
    ...running,
    checkpoint: {
      ...running.checkpoint,
      async save(state) {
        await running.checkpoint.save(state);
        if (!existsSync(join(scratch, 'running')) || swept.length > 0) return;
        now += 30 * DAY_S * 1000;
        napping = Promise.withResolvers<void>();
        naps.shift()?.wake();
        await napping.promise;
        swept = readdirSync(scratch).sort();
      },
    },
  });
  assert.deepEqual(swept, ['running']);
  const [nap] = naps;
  assert.equal(nap?.signal?.aborted, false);
  await agent.close();
  assert.equal(nap?.signal?.aborted, true);
});
