import { execFileSync } from 'node:child_process';
import { RULES, reachGraph } from './reach.ts';
import { isUnitTest, packageOf } from './test-files.ts';

const MAIN_BRANCHES = ['origin/HEAD', 'origin/main', 'origin/master', 'main', 'master'];

/** The files that differ from a commit, relative to the root: committed since, uncommitted and new. Throws for an unknown commit. */
export function changedSince(root: string, commit: string): string[] {
  const git = (...args: string[]): string[] =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
      .split('\0')
      .filter(Boolean);
  const differs = git('diff', '--name-only', '--no-renames', '-z', commit, '--');
  const added = git('ls-files', '--others', '--exclude-standard', '-z');
  return [...new Set([...differs, ...added])].sort();
}

/**
 * The files that differ from the commit where this branch left the main one. On the main branch itself, the files that
 * differ from its last commit.
 */
export function changedFiles(root: string): string[] {
  const base = MAIN_BRANCHES.map((branch) => {
    try {
      const args = ['merge-base', 'HEAD', branch];
      return execFileSync('git', args, {
        cwd: root,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }).trim();
    } catch {
      // This clone has no such branch.
      return undefined;
    }
  }).find((commit) => commit !== undefined);
  return changedSince(root, base ?? 'HEAD');
}

/**
 * Selects the test files that a change concerns: the rules of the repository, and the unit tests of a changed
 * package that reach a changed file. A changed file that is not TypeScript concerns every test of its package. Tests of
 * other packages, and those that are not unit tests, are left to the whole run.
 */
export function selectChanged(root: string, files: readonly string[], changed: readonly string[]): string[] {
  const sources = new Set(changed.filter((file) => file.endsWith('.ts')));
  const wholePackages = new Set(changed.filter((file) => !sources.has(file)).map(packageOf));
  const packages = new Set(changed.map(packageOf));
  const { reaches } = reachGraph(root, changed);
  return files.filter((file) => {
    if (!isUnitTest(file)) return false;
    if (file.startsWith(RULES)) return true;
    const own = packageOf(file);
    if (own === '' || !packages.has(own)) return false;
    return wholePackages.has(own) || reaches(file, sources);
  });
}
