import assert from 'node:assert/strict';
import { existsSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog as log, manualClock, tempDir } from '@hermes-fleet/protocol/testing';
import { attackersGit } from '../../testing/attackers-git.ts';
import { makePlace } from '../../testing/place.ts';
import { createConfinement } from '../confinement/create-confinement.ts';
import { createGit, type Git } from '../git/git.ts';
import { openBase, ownOrigin } from './base.ts';
import { addPacks } from './kept-packs.ts';
import { createRepacking } from './repack.ts';
import { openResults } from './results.ts';
import { openStore, type Store } from './store.ts';

async function openStores(t: TestContext) {
  const place = makePlace(t);
  const root = tempDir(t);
  const git = createGit({ profile: 'neo', clock: systemClock, log });
  const confinement = await createConfinement({ confine: 'unconfined', ...place, clock: systemClock, log });
  const base = await openBase({ dir: join(root, 'base.git'), git, confinement, log }, ownOrigin);
  const dir = join(root, 'results.git');
  const { commit: start } = await base.start({});
  const worker = attackersGit(join(root, 'worker'), base.objects);
  const open = () => openResults({ dir, base, git, clock: systemClock, log });
  const results = await open();
  const has = (id: string): Promise<boolean> =>
    git.ask({ cwd: dir, gitDir: dir, workTree: undefined, wrap }, ['cat-file', '-e', id]);
  const wrap = (command: string, args: readonly string[]) => ({ command, args });
  return {
    git,
    dir,
    results,
    open,
    has,
    /** A commit of one file with this text, and its pack. */
    make(text: string) {
      const blob = worker.blob(text);
      const tree = worker.tree([['100644', 'a.txt', blob]]);
      const commit = worker.commit(tree, start);
      return { blob, commit, pack: worker.pack([blob, tree, commit]) };
    },
    async take(name: string, made: { readonly commit: string; readonly pack: Buffer }): Promise<void> {
      await using passing = results.passing();
      const { file } = passing;
      writeFileSync(file, made.pack, { flag: 'wx' });
      await using checked = await results.check({ file, commit: made.commit, base: start });
      await checked.keep(name, { parent: start, message: 'Task' });
    },
    packs: () => readdirSync(join(dir, 'objects/pack')),
  };
}

test('no result that arrives during repacks loses an object, and no deleted one keeps any', async (t) => {
  const { results, take, make, has, packs } = await openStores(t);
  const kept: string[] = [];
  const deleted: string[] = [];
  // The same content comes and goes under several names, so that equal packs meet.
  const workers = [0, 1, 2].map(async (worker) => {
    for (let at = 0; at < 8; at += 1) {
      const shared = make(`shared ${at % 4}`);
      const own = make(`worker ${worker} ${at}`);
      await take(`shared-${worker}-${at}`, shared);
      await take(`own-${worker}-${at}`, own);
      assert.deepEqual([await has(shared.blob), await has(own.blob)], [true, true]);
      const goes = at % 2 === 0;
      (goes ? deleted : kept).push(own.blob);
      await results.delete([`shared-${worker}-${at}`, ...(goes ? [`own-${worker}-${at}`] : [])]);
      await results.prune();
      assert.equal(await has(own.blob), !goes);
    }
  });
  await Promise.all(workers);
  await results.prune();
  for (const blob of kept) assert.equal(await has(blob), true, 'a result that stays');
  for (const blob of deleted) assert.equal(await has(blob), false, 'a result that was deleted');
  assert.equal(await has(make('shared 1').blob), false);
  assert.equal(packs().filter((name) => name.endsWith('.keep')).length, 0);
});

test('a pack that no branch has yet survives a repack, also beside an equal one', async (t) => {
  const { git, dir, make } = await openStores(t);
  const { blob, pack } = make('on its way');
  const store: Store = await openStore({ dir, git, log, readable: false });
  const repacking = createRepacking(git, store, systemClock);
  const incoming = async (): Promise<AsyncDisposable> => {
    const from = join(dir, 'packs', 'incoming');
    const file = join(dir, 'packs', 'file');
    writeFileSync(file, pack);
    await git.script(store.place, INDEX, [from, file]);
    return addPacks(join(from, 'pack'), store);
  };
  const first = await incoming();
  await repacking.now();
  assert.ok(await git.ask(store.place, ['cat-file', '-e', blob]));
  await first[Symbol.asyncDispose]();
  const [second, third] = [await incoming(), await incoming()];
  await second[Symbol.asyncDispose]();
  await repacking.now();
  assert.ok(await git.ask(store.place, ['cat-file', '-e', blob]), 'the equal one went, this one stays');
  await third[Symbol.asyncDispose]();
  await repacking.now();
  assert.ok(!(await git.ask(store.place, ['cat-file', '-e', blob])));
});

const INDEX = 'mkdir -p "$1/pack"; GIT_OBJECT_DIRECTORY=$1 exec git index-pack --stdin <"$2"';

test('a deletion that a repack overlaps is still to be repacked', async (t) => {
  const { git, dir, take, make, has } = await openStores(t);
  const made = make('deleted during a repack');
  await take('one', made);
  const store: Store = await openStore({ dir, git, log, readable: false });
  const repacking = createRepacking(git, store, systemClock);
  const refs = ['refs/heads/fleet/one', 'refs/contexts/one'];
  await repacking.deleting(async () => {
    await repacking.now();
    for (const ref of refs) await git.run(store.place, ['update-ref', '-d', ref]);
  });
  assert.equal(await has(made.blob), true, 'the repack was too early');
  await repacking.run();
  assert.equal(await has(made.blob), false);
});

test('what a crash left of repacks and deletions goes after the next start', async (t) => {
  const { dir, results, open, take, make, has, packs } = await openStores(t);
  const made = make('deleted before the crash');
  await take('one', made);
  const [pack = ''] = packs().filter((name) => name.endsWith('.pack'));
  writeFileSync(join(dir, 'objects/pack', pack.replace('.pack', '.keep')), KEPT);
  writeFileSync(join(dir, 'objects/pack/.tmp-1-pack-x.pack'), 'half of a pack');
  await results.delete(['one']);
  assert.equal(existsSync(join(dir, 'repack-wanted')), true);
  const next = await open();
  await next.prune();
  assert.deepEqual([await has(made.blob), existsSync(join(dir, 'repack-wanted'))], [false, false]);
  assert.deepEqual(
    packs().filter((name) => name.startsWith('.tmp-') || name.endsWith('.keep')),
    [],
  );
  await next.prune();
});

test('a deletion soon after a repack is answered, and its objects go with the next cleanup', async (t) => {
  const { git, dir, take, make, has } = await openStores(t);
  const clock = manualClock();
  const store: Store = await openStore({ dir, git, log, readable: false });
  const calls: string[] = [];
  /** A repack takes a second. */
  const slow: Git = {
    ...git,
    run(place, args, call) {
      if (args.includes('repack')) {
        calls.push('repack');
        clock.advance(1000);
      }
      return git.run(place, args, call);
    },
  };
  const open = () => createRepacking(slow, store, clock);
  const first = open();
  const deleted = async (name: string): Promise<string> => {
    const made = make(name);
    await take(name, made);
    const refs = [`refs/heads/fleet/${name}`, `refs/contexts/${name}`];
    await first.deleting(async () => {
      for (const ref of refs) await git.run(store.place, ['update-ref', '-d', ref]);
    });
    return made.blob;
  };
  const one = await deleted('one');
  await Promise.all([first.runInTurn(), first.runInTurn()]);
  assert.deepEqual([await has(one), calls.length], [false, 1], 'both calls share a repack');
  const two = await deleted('two');
  clock.advance(19_999);
  await first.runInTurn();
  assert.deepEqual([await has(two), calls.length], [true, 1], 'too early');
  clock.advance(1);
  await first.runInTurn();
  assert.deepEqual([await has(two), calls.length], [false, 2]);
  const three = await deleted('three');
  await first.runInTurn();
  assert.equal(await has(three), true);
  await first.run();
  assert.deepEqual([await has(three), calls.length], [false, 3], 'a cleanup does not wait');
  const four = await deleted('four');
  await first.runInTurn();
  await open().run();
  assert.deepEqual([await has(four), calls.length], [false, 4], 'nor does a restart forget it');
});

test('a deletion during a repack does not wait for it', { timeout: 60_000 }, async (t) => {
  const { git, dir, take, make, has } = await openStores(t);
  const store: Store = await openStore({ dir, git, log, readable: false });
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const { promise: continued, resolve: goOn } = Promise.withResolvers<void>();
  const held: Git = {
    ...git,
    async run(place, args, call) {
      begin();
      await continued;
      return git.run(place, args, call);
    },
  };
  const repacking = createRepacking(held, store, systemClock);
  const running = repacking.now();
  await begun;
  const made = make('deleted during a repack');
  await take('one', made);
  assert.equal(await has(made.blob), true, 'nor does a result wait');
  await repacking.deleting(() => git.run(store.place, DELETE_ONE).then(() => {}));
  await repacking.runInTurn();
  goOn();
  await running;
  assert.equal(existsSync(join(dir, 'repack-wanted')), true);
});

const DELETE_ONE = ['update-ref', '-d', 'refs/heads/fleet/one'];

test('many results become one pack with the next cleanup', async (t) => {
  const { results, take, make, packs } = await openStores(t);
  const count = (): number => packs().filter((name) => name.endsWith('.pack')).length;
  for (let at = 0; at < 31; at += 1) await take(`r-${at}`, make(`text ${at}`));
  await results.prune();
  assert.equal(count(), 31);
  await take('r-31', make('text 31'));
  assert.equal(count(), 32, 'a task does not wait for a repack');
  await results.prune();
  assert.equal(count(), 1);
});

test('a repack of a large store has more time', async (t) => {
  const { git, dir } = await openStores(t);
  const store: Store = await openStore({ dir, git, log, readable: false });
  const limits: unknown[] = [];
  const recorded: Git = { ...git, run: async (_place, _args, call) => String(limits.push(call?.timeoutMs)) };
  const file = join(dir, 'objects/pack/pack-large.pack');
  writeFileSync(file, '');
  truncateSync(file, 7_200_000_000);
  await createRepacking(recorded, store, systemClock).now();
  assert.deepEqual(limits, [7_800_000, 7_800_000]);
});

const KEPT = 'hermes-fleet: until a branch has it\n';
