import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isUnitTest, packageOf } from './test-files.ts';

/** Rules of the repository: they look at every file, so they run whatever changed. */
const ALWAYS = 'test/repository/';
const MAIN_BRANCHES = ['origin/HEAD', 'origin/main', 'origin/master', 'main', 'master'];

/**
 * The files that differ from the commit where this branch left the main one, relative to the root: committed since,
 * uncommitted and new. On the main branch itself, the files that differ from its last commit.
 */
export function changedFiles(root: string): string[] {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const linesOf = (text: string): string[] => text.split('\0').filter(Boolean);
  const base = MAIN_BRANCHES.map((branch) => {
    try {
      return git('merge-base', 'HEAD', branch).trim();
    } catch {
      // This clone has no such branch.
      return undefined;
    }
  }).find((commit) => commit !== undefined);
  const differs = git('diff', '--name-only', '--no-renames', '-z', base ?? 'HEAD');
  const added = git('ls-files', '--others', '--exclude-standard', '-z');
  return [...new Set([...linesOf(differs), ...linesOf(added)])].sort();
}

/**
 * Selects the test files that a change concerns: the rules of the repository, and the unit tests of a changed
 * package that reach a changed file through what they import. A changed file that is not TypeScript concerns every
 * test of its package. Tests of other packages, fleets, containers and crashes are left to the whole run.
 */
export function selectChanged(root: string, files: readonly string[], changed: readonly string[]): string[] {
  const sources = new Set(changed.filter((file) => file.endsWith('.ts')));
  const wholePackages = new Set(changed.filter((file) => !sources.has(file)).map(packageOf));
  const packages = new Set(changed.map(packageOf));
  return files.filter((file) => {
    if (!isUnitTest(file)) return false;
    if (file.startsWith(ALWAYS)) return true;
    const own = packageOf(file);
    if (own === '' || !packages.has(own)) return false;
    return wholePackages.has(own) || reaches(root, file, sources);
  });
}

/** The file itself, or a file of its package that it imports or names, directly or not, is one of these. */
function reaches(root: string, file: string, wanted: ReadonlySet<string>): boolean {
  const own = packageOf(file);
  const seen = new Set([file]);
  // A set yields what is added while it is walked.
  for (const at of seen) {
    if (wanted.has(at)) return true;
    for (const named of filesNamedIn(root, at)) if (packageOf(named) === own) seen.add(named);
  }
  return false;
}

/** Files that the text names by a relative path: imports, and programs that a test starts. */
function filesNamedIn(root: string, file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(/['"`]([^'"`\n]+\.ts)['"`]/g)]
    .map(([, path = '']) => join(dirname(file), path))
    .filter((path) => !path.startsWith('..') && existsSync(join(root, path)));
}
