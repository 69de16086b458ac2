/**
 * `make size`: the lines of the sources of libs and services, without tests, test support and fixtures, and the difference
 * from a commit.
 */

import { execFileSync } from 'node:child_process';

const SOURCES = ['libs/', 'services/', ':!*.test.ts', ':!**/testing/**', ':!**/fixtures/**'];

/** Lines of each package of the working tree, or of a commit. */
function linesOfPackages(commit?: string): Map<string, number> {
  const args = ['grep', '--count', '-I', '', ...(commit ? [commit] : []), '--', ...SOURCES];
  const counts = execFileSync('git', args, { encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 });
  const lines = new Map<string, number>();
  for (const [, path = '', count] of counts.matchAll(/((?:libs|services)\/.+\.[cm]?[jt]s):(\d+)$/gm)) {
    const name = path.replace(/\/src\/.*|\/[^/]*$/, '');
    lines.set(name, (lines.get(name) ?? 0) + Number(count));
  }
  return lines;
}

const [commit] = process.argv.slice(2);
const now = linesOfPackages();
const before = commit ? linesOfPackages(commit) : now;
const sum = (lines: ReadonlyMap<string, number>) => [...lines.values()].reduce((all, each) => all + each, 0);
const row = (name: string, lines: number, then: number) =>
  `${String(lines).padStart(7)}${commit ? String(lines - then).padStart(7) : ''}  ${name}`;

const names = [...new Set([...now.keys(), ...before.keys()])].sort();
for (const name of names) console.log(row(name, now.get(name) ?? 0, before.get(name) ?? 0));
console.log(row('all', sum(now), sum(before)));
