import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../support/fleet.ts';
import { COMPOSED } from '../support/runner/composed.ts';
import { RULES, reachGraph } from '../support/runner/reach.ts';
import { FOLDERS, findTestFiles } from '../support/runner/test-files.ts';

/** Files and folders that no test runs or reads, apart from the rules of the repository. */
const LEFT_OUT: readonly (readonly [path: string, because: string])[] = [
  ['deploy/grafana/src/generate.ts', 'writes the dashboards, whose text a test compares'],
  ['docs/', 'read by people, and pictures that make picture draws'],
  ['CHANGELOG.md', 'read by people'],
  ['CONTRIBUTING.md', 'read by people'],
  ['LICENSE', 'read by people'],
  ['SECURITY.md', 'read by people'],
  ['.editorconfig', 'read by editors'],
  ['biome.json', 'read by make check'],
  ['.nvmrc', 'read by whoever installs Node'],
  ['test/run.ts', 'runs the tests'],
  ['test/bench/', 'measurements of make bench'],
  ['test/faults/main.ts', 'the command line of make test-faults'],
  ['test/sim/main.ts', 'the command line of make sim'],
  ['test/sim/scale', 'a part of make sim'],
  ['test/fixtures/make', 'makes the fixtures of a release, once'],
  ['test/fixtures/profile-at.ts', 'makes the fixtures of a release, once'],
];

/** Types alone are gone when a test runs. */
const isTypesAlone = (file: string): boolean =>
  file.endsWith('.ts') &&
  stripTypeScriptTypes(readFileSync(join(ROOT, file), 'utf8'))
    .replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
    .trim() === '';

const graph = reachGraph(ROOT);
/** The files that a test imports or names. A rule of the repository reaches all the others too, as the farthest. */
function namedBy(test: string): string[] {
  const steps = [...graph.filesOf(test)];
  const far = test.startsWith(RULES) ? Math.max(...steps.map(([, step]) => step)) : Number.POSITIVE_INFINITY;
  return steps.filter(([, step]) => step < far).map(([file]) => file);
}

test('every file that runs or configures something is reached by a test', () => {
  const own = relative(ROOT, import.meta.filename);
  const tests = findTestFiles(ROOT, FOLDERS).filter((file) => file !== own);
  // This one names what no test reaches.
  const reached = new Set([own, ...tests.flatMap(namedBy)]);
  const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' }).split('\0');
  const present = tracked.filter((file) => file !== '' && existsSync(join(ROOT, file)));
  const unreached = present.filter((file) => !reached.has(file) && !isTypesAlone(file));
  const isLeftOut = (file: string): boolean => LEFT_OUT.some(([path]) => file.startsWith(path));
  assert.deepEqual(
    unreached.filter((file) => !isLeftOut(file)),
    [],
    'import or name it in a test, or say in test/support/runner/composed.ts which file composes its path',
  );
  const idle = LEFT_OUT.filter(([path]) => !unreached.some((file) => file.startsWith(path)));
  assert.deepEqual(idle, [], 'these are reached');
});

test('the paths that a file composes exist', () => {
  const paths = Object.entries(COMPOSED).flatMap(([file, { reached }]) => [file, ...reached]);
  assert.deepEqual(
    paths.filter((path) => !existsSync(join(ROOT, path))),
    [],
  );
});
