import { execFileSync } from 'node:child_process';
import { RULES, reachGraph } from './reach.ts';
import { isUnitTest, packageOf } from './test-files.ts';

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
 * package that reach a changed file. A changed file that is not TypeScript concerns every
 * test of its package. Tests of other packages, fleets, containers and crashes are left to the whole run.
 */
export function selectChanged(root: string, files: readonly string[], changed: readonly string[]): string[] {
  const sources = new Set(changed.filter((file) => file.endsWith('.ts')));
  const wholePackages = new Set(changed.filter((file) => !sources.has(file)).map(packageOf));
  const packages = new Set(changed.map(packageOf));
  const { reaches } = reachGraph(root);
  return files.filter((file) => {
    if (!isUnitTest(file)) return false;
    if (file.startsWith(RULES)) return true;
    const own = packageOf(file);
    if (own === '' || !packages.has(own)) return false;
    return wholePackages.has(own) || reaches(file, sources);
  });
}
