import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock, type ToolResult } from '@hermes-fleet/protocol';
import { type AnchoredFiles, anchoredFiles, hasCode } from '@hermes-fleet/workspace';
import { tempDir } from '@hermes-fleet/workspace/testing';
import type { AgentTool } from '../run/conversation.ts';
import { makeToolContext } from '../testing/harness.ts';
import { fileTools } from './file-tools.ts';
import { findFilesTool } from './find-files.ts';
import { grepFilesTool } from './grep-files.ts';
import { listFilesTool } from './list-files.ts';
import { memoryTools } from './memory.ts';
import { progressTools } from './progress.ts';
import { scratchpadTools } from './scratchpad.ts';

const SECRET = 'top secret needle';

/** Makes a workspace, and beside it a directory that no tool may read from or write to. */
function makeTree(t: TestContext) {
  const base = tempDir(t, 'fleet-matrix-');
  const [root, outside] = [join(base, 'workspace'), join(base, 'workspace-secret')];
  for (const directory of [root, outside, join(root, 'dir'), join(root, '.git'), join(base, 'state')])
    mkdirSync(directory);
  writeFileSync(join(outside, 'secret'), SECRET);
  writeFileSync(join(outside, 'secret.md'), SECRET);
  writeFileSync(join(outside, 'PROGRESS.json'), JSON.stringify({ remaining: [SECRET] }));
  writeFileSync(join(root, 'dir/file'), 'inside');
  writeFileSync(join(root, '.git/config'), SECRET);
  const before = snapshot(outside);
  return {
    base,
    root,
    outside,
    memory: join(base, 'state/memory'),
    unharmed: () => assert.deepEqual(snapshot(outside), before),
  };
}

type Tree = ReturnType<typeof makeTree>;

const snapshot = (dir: string): Record<string, string> =>
  Object.fromEntries(readdirSync(dir).map((name) => [name, readFileSync(join(dir, name), 'utf8')]));

function toolsOn(tree: Tree, wrapFiles = (files: AnchoredFiles) => files) {
  const { root, memory } = tree;
  const context = makeToolContext({ dir: root, files: wrapFiles(anchoredFiles(root, false)) });
  const clock = systemClock;
  const all: AgentTool[] = [
    ...[...fileTools(), listFilesTool({ clock }), findFilesTool({ clock })],
    ...[grepFilesTool({ clock, commands: true }), ...progressTools(), ...scratchpadTools()],
    ...memoryTools({ dir: memory }),
  ];
  const tools = new Map(all.map((tool) => [tool.name, tool]));
  tools.set('grep_files (in the gateway)', grepFilesTool({ clock, commands: false }));
  return {
    names: [...tools.keys()],
    async call(name: string, input: object): Promise<ToolResult> {
      const tool = tools.get(name);
      assert.ok(tool, name);
      const result = await tool.run(input, context);
      assert.doesNotMatch(JSON.stringify(result), new RegExp(SECRET), `${name} ${JSON.stringify(input)}`);
      return result;
    },
  };
}

/** Input of every tool that takes a path of the workspace. */
const BY_PATH: Readonly<Record<string, (path: string) => object>> = {
  read_file: (path) => ({ path }),
  write_file: (path) => ({ path, content: 'planted' }),
  edit_file: (path) => ({ path, old_text: 'secret', new_text: 'planted' }),
  list_files: (path) => ({ path }),
  find_files: (path) => ({ pattern: '**', path }),
  grep_files: (path) => ({ pattern: 'needle', path }),
  'grep_files (in the gateway)': (path) => ({ pattern: 'needle', path }),
};
/** Input of every tool that takes a path pattern. */
const BY_PATTERN: Readonly<Record<string, (path: string) => object>> = {
  find_files: (pattern) => ({ pattern }),
  grep_files: (include) => ({ pattern: 'needle', include }),
  'grep_files (in the gateway)': (include) => ({ pattern: 'needle', include }),
};
/** Input of every tool that takes a name in its own folder. */
const BY_NAME: Readonly<Record<string, (name: string) => object>> = {
  scratchpad_read: (name) => ({ name }),
  scratchpad_write: (name) => ({ name, content: 'planted' }),
  memory_read: (name) => ({ name }),
  memory_write: (name) => ({ name, content: 'planted' }),
};
/** Input of the tools that take neither path nor name; the tests attack their folder. */
const FIXED: Readonly<Record<string, object>> = {
  progress_read: {},
  progress_update: { remaining: ['x'] },
  scratchpad_list: {},
  memory_list: {},
};

test('the tables list every tool that touches files', (t) => {
  const { names } = toolsOn(makeTree(t));
  const tabled = [BY_PATH, BY_NAME, FIXED].flatMap(Object.keys);
  assert.deepEqual(names.toSorted(), tabled.toSorted());
});

type Attack = (tree: Tree) => string;
const link =
  (target: (tree: Tree) => string, path: string, name = path): Attack =>
  (tree) => {
    symlinkSync(target(tree), join(tree.root, path.split('/')[0] ?? path));
    return name;
  };

/** Makes a null device; a user who may not make devices gets a symlink to one of the machine's. */
function device({ root }: Tree): string {
  if (process.getuid?.() === 0) execFileSync('mknod', [join(root, 'device'), 'c', '1', '5']);
  else symlinkSync('/dev/zero', join(root, 'device'));
  return 'device';
}

const ATTACKS: Readonly<Record<string, Attack>> = {
  'a parent': () => '../workspace-secret/secret',
  'a parent directory': () => '..',
  'a parent after a detour': () => 'dir/../../workspace-secret',
  'an absolute path': ({ outside }) => join(outside, 'secret'),
  'an absolute path of the system': () => '/etc/passwd',
  'a prefix twin': ({ root }) => `${root}-secret/secret`,
  'a prefix twin, as a directory': ({ root }) => `${root}-secret`,
  'a symlinked file': link(({ outside }) => join(outside, 'secret'), 'link'),
  'a symlinked file, relative': link(() => '../workspace-secret/secret', 'link'),
  'a symlinked directory': link(({ outside }) => outside, 'link'),
  'a symlinked parent': link(({ outside }) => outside, 'link', 'link/secret'),
  'a symlinked parent of a new file': link(({ outside }) => outside, 'link', 'link/new'),
  'a symlinked parent of a new directory': link(({ outside }) => outside, 'link', 'link/a/b/new'),
  'a dangling symlink': link(({ outside }) => join(outside, 'new'), 'link'),
  'a symlink to itself': link(() => 'link', 'link'),
  'a symlink through /proc': link(() => '/proc/self/root/etc', 'link', 'link/passwd'),
  'a null byte': () => 'dir/file\0',
  'a path that is too long': () => 'x/'.repeat(3000),
  'a name that is too long': () => 'y'.repeat(300),
  '.git': () => '.git',
  'a file in .git': () => '.git/config',
  '.git in capitals': () => 'dir/.GIT/config',
  'a symlink to .git': link(() => '.git', 'link', 'link/config'),
  'a pipe': ({ root }) => {
    execFileSync('mkfifo', [join(root, 'pipe')]);
    return 'pipe';
  },
  'a device': device,
  'below a file': () => 'dir/file/x',
};

for (const [what, attack] of Object.entries(ATTACKS)) {
  test(`no tool follows ${what}`, { timeout: 60_000 }, async (t) => {
    const attacked = async (name: string, inputOf: (path: string) => object) => {
      const tree = makeTree(t);
      const path = attack(tree);
      const result = await toolsOn(tree).call(name, inputOf(path));
      tree.unharmed();
      assert.equal(readFileSync(join(tree.root, '.git/config'), 'utf8'), SECRET);
      return { path, result };
    };
    for (const [name, inputOf] of Object.entries({ ...BY_PATH, ...BY_NAME })) {
      const { path, result } = await attacked(name, inputOf);
      assert.equal(result.ok, isFine(name, path), `${name} ${path}`);
    }
    // A pattern that matches nothing in the workspace is allowed to succeed.
    for (const [name, inputOf] of Object.entries(BY_PATTERN)) await attacked(name, inputOf);
  });
}

/** A plain name is a valid scratchpad name, even when the workspace has a dangerous entry of that name. */
const isFine = (tool: string, path: string): boolean =>
  tool === 'scratchpad_write' && /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(path);

/** Planted in place of the folders and files that tools manage. */
const PLANTED: Readonly<Record<string, (path: string, outside: string) => void>> = {
  'a symlink to a directory outside': (path, outside) => symlinkSync(outside, path),
  'a symlink to a file outside': (path, outside) => symlinkSync(join(outside, 'secret'), path),
  'a dangling symlink': (path, outside) => symlinkSync(join(outside, 'new'), path),
  'a symlink to itself': (path) => symlinkSync(path, path),
  'a symlink to .git': (path) => symlinkSync('.git', path),
  'a pipe': (path) => void execFileSync('mkfifo', [path]),
};
const PLACES: Readonly<Record<string, readonly string[]>> = {
  '.scratch': ['scratchpad_read', 'scratchpad_write', 'scratchpad_list'],
  '.scratch/task': ['scratchpad_read', 'scratchpad_write', 'scratchpad_list'],
  '.scratch/task/secret': ['scratchpad_read', 'scratchpad_write', 'scratchpad_list'],
  '.scratch/task/.secret.tmp': ['scratchpad_write'],
  '.scratch/task/.used': ['scratchpad_write'],
  'PROGRESS.json': ['progress_read', 'progress_update'],
  '.PROGRESS.json.tmp': ['progress_read', 'progress_update'],
  'PROGRESS.invalid-1.json': ['progress_update'],
  '../state/memory/secret.md': ['memory_read', 'memory_write', 'memory_list'],
  '../state/memory/.secret.md.tmp': ['memory_write'],
};

for (const [what, plant] of Object.entries(PLANTED)) {
  test(`no tool follows ${what} in place of a file or folder that it manages`, {
    timeout: 60_000,
  }, async (t) => {
    for (const [place, tools] of Object.entries(PLACES)) {
      for (const name of tools) {
        const tree = makeTree(t);
        const path = join(tree.root, place);
        mkdirSync(join(path, '..'), { recursive: true });
        plant(path, tree.outside);
        const file = name.startsWith('memory') ? 'secret.md' : 'secret';
        await toolsOn(tree).call(name, FIXED[name] ?? BY_NAME[name]?.(file) ?? {});
        tree.unharmed();
        assert.equal(readFileSync(join(tree.root, '.git/config'), 'utf8'), SECRET);
        assert.equal(existsSync(join(tree.outside, 'new')), false);
      }
    }
  });
}

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
