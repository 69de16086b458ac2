import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { ASSETS, asset, checkout, folder, PROGRAMS, program, version } from './installation.ts';

const keys = <T extends object>(table: T) => Object.keys(table) as (keyof T)[];

test('every file and program that is named is there', () => {
  const paths = [...keys(ASSETS).map(asset), ...keys(PROGRAMS).map(program)];
  assert.deepEqual(
    paths.filter((path) => !existsSync(path)),
    [],
  );
  assert.match(version(), /^\d+\.\d+\.\d+/);
});

test('no other module of the program asks where it is itself', () => {
  const root = checkout() ?? folder();
  const asking = globSync('{libs,services}/**/src/**/*.ts', { cwd: root, exclude: ['**/node_modules/**'] })
    .filter((file) => !file.endsWith('.test.ts'))
    .filter((file) => readFileSync(join(root, file), 'utf8').includes('import.meta.'))
    .toSorted();
  const own = relative(root, join(import.meta.dirname, 'installation.ts'));
  assert.deepEqual(asking, [own]);
});
