import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';

/** A copy of a repository, in which faults are planted. */
export interface Copy extends Disposable {
  readonly root: string;
  /** Throws if a patch does not apply to the unchanged files. */
  check(patch: string): void;
  /** Applies a patch to the unchanged files. */
  plant(patch: string): void;
  /** Takes every change back. */
  restore(): void;
}

/** The scopes of packages that are links into the repository itself. */
const OWN_SCOPE = '@hermes-fleet';
/** Links of these folders are relative, so a copy of a link leads into the copy. */
const LINKED: readonly string[] = ['.bin', OWN_SCOPE];

/**
 * Makes a worktree of everything that the repository holds now, committed or not, below `.cache` of the root. The user's
 * files, index and branches don't change. Its packages are those of the root, except that the repository's own lead into
 * the copy.
 */
export function copyRepository(root: string): Copy {
  const cache = join(root, '.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'faults-'));
  const tree = join(folder, 'tree');
  const git = (args: readonly string[], cwd = root, env = {}): string =>
    execFileSync('git', args, {
      cwd,
      encoding: 'utf8',
      env: { ...process.env, ...env },
      stdio: 'pipe',
    }).trim();
  const index = { GIT_INDEX_FILE: join(folder, 'index') };
  git(['read-tree', 'HEAD'], root, index);
  git(['add', '--all'], root, index);
  const identity = ['-c', 'user.name=faults', '-c', 'user.email=faults@localhost'];
  const made = git(['write-tree'], root, index);
  const commit = git([...identity, 'commit-tree', made, '-p', 'HEAD', '-m', 'What is there now']);
  git(['worktree', 'add', '--quiet', '--detach', tree, commit]);
  linkPackages(join(root, 'node_modules'), join(tree, 'node_modules'));
  const restore = (): void => {
    git(['reset', '--quiet', '--hard', commit], tree);
    git(['clean', '--quiet', '-fd'], tree);
  };
  const remove = (): void => {
    git(['worktree', 'remove', '--force', tree]);
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', remove);
  return {
    root: tree,
    check: (patch) => void git(['apply', '--check', patch], tree),
    plant: (patch) => {
      restore();
      git(['apply', patch], tree);
    },
    restore,
    [Symbol.dispose]: () => {
      process.off('exit', remove);
      remove();
    },
  };
}

function linkPackages(from: string, to: string): void {
  if (!existsSync(from)) return;
  mkdirSync(to);
  for (const name of readdirSync(from)) {
    if (!LINKED.includes(name)) {
      symlinkSync(join(from, name), join(to, name));
      continue;
    }
    mkdirSync(join(to, name));
    for (const each of readdirSync(join(from, name))) {
      const path = join(from, name, each);
      const target = lstatSync(path).isSymbolicLink() ? readlinkSync(path) : path;
      symlinkSync(target, join(to, name, each));
    }
  }
}
