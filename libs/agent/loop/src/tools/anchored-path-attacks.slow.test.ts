import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  BY_NAME,
  BY_PATH,
  BY_PATTERN,
  FIXED,
  makeTree,
  SECRET,
  type Tree,
  toolsOn,
} from '../../testing/attacked-tools.ts';

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
