import { existsSync, lstatSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { hasCode } from '@hermes-fleet/workspace';
import { BY_PATH, FIXED, makeTree, type Tree, toolsOn } from '../../testing/attacked-tools.ts';

/** Every tool, with a path or name in a directory that is swapped for a symlink. */
const SWAPPED: Readonly<Record<string, object>> = {
  ...Object.fromEntries(
    Object.entries(BY_PATH).map(([name, of]) => [
      name,
      of(/list|find|grep/.test(name) ? 'dir' : 'dir/secret'),
    ]),
  ),
  scratchpad_read: { name: 'secret' },
  scratchpad_write: { name: 'secret', content: 'planted' },
  ...FIXED,
};

/** Adds the folders that the tools work in. */
function withVictims(tree: Tree): Tree {
  for (const path of ['.scratch/task', 'dir']) {
    mkdirSync(join(tree.root, path), { recursive: true });
    writeFileSync(join(tree.root, path, 'secret'), 'harmless');
  }
  return tree;
}

test('no tool follows a symlink that is planted right after its path was checked', async (t) => {
  for (const [name, input] of Object.entries(SWAPPED)) {
    const tree = withVictims(makeTree(t));
    const swap = (): void => {
      for (const path of ['dir', '.scratch/task', '.scratch']) {
        const there = lstatSync(join(tree.root, path), { throwIfNoEntry: false });
        if (!there?.isDirectory()) continue;
        renameSync(join(tree.root, path), join(tree.root, `gone-${path.replace('/', '-')}`));
        symlinkSync(tree.outside, join(tree.root, path));
      }
      const progress = join(tree.root, 'PROGRESS.json');
      if (!existsSync(progress)) symlinkSync(join(tree.outside, 'PROGRESS.json'), progress);
    };
    const after = async <T>(opening: Promise<T>): Promise<T> => {
      const opened = await opening;
      swap();
      return opened;
    };
    const tools = toolsOn(tree, (files) => ({
      ...files,
      openFile: (path, mode) => after(files.openFile(path, mode)),
      openFolder: (path, o) => after(files.openFolder(path, o)),
      openDirectory: (path) => after(files.openDirectory(path)),
    }));
    await tools.call(name, input);
    tree.unharmed();
  }
});

/** Puts something in a place, and replaces anything that a tool made there in the meantime. */
function put(place: string, make: (place: string) => void): void {
  for (;;) {
    rmSync(place, { recursive: true, force: true });
    try {
      make(place);
      return;
    } catch (error) {
      if (!hasCode(error, 'EEXIST', 'EISDIR', 'ENOTEMPTY')) throw error;
    }
  }
}

test('no tool leaves the workspace while a directory keeps turning into a symlink', {
  timeout: 120_000,
}, async (t) => {
  const tree = withVictims(makeTree(t));
  const tools = toolsOn(tree);
  const places = ['dir', '.scratch/task'].map((path) => join(tree.root, path));
  let isOver = false;
  const swapping = (async () => {
    for (let turn = 0; !isOver; turn += 1) {
      for (const place of places) {
        put(`${place}-aside`, (aside) => renameSync(place, aside));
        put(place, (gone) => symlinkSync(tree.outside, gone));
      }
      for (let turns = turn % 4; turns > 0; turns -= 1) await nextTurn();
      for (const place of places) put(place, (link) => renameSync(`${place}-aside`, link));
      for (let turns = turn % 3; turns >= 0; turns -= 1) await nextTurn();
    }
  })();
  try {
    for (const [name, input] of Object.entries(SWAPPED))
      for (let turn = 0; turn < 30; turn += 1) await tools.call(name, input);
  } finally {
    isOver = true;
    await swapping;
  }
  tree.unharmed();
});
