import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';

const ROOT = resolve(import.meta.dirname, '../..');

/** A path that a file names from where it is. `resolve` and `join` may have more parts, which need not exist. */
const FROM_HERE =
  /import\.meta\.dirname, '([^']+)'|new URL\('([^']+)', import\.meta\.url\)|import\.meta\.resolve\('(\.[^']+)'\)/g;

test('what a file names by a path from its own folder exists', () => {
  const missing: string[] = [];
  let found = 0;
  for (const file of globSync('{libs,services,deploy,docs,test}/**/*.{ts,mjs}', {
    cwd: ROOT,
    exclude: ['**/node_modules/**', 'test/support/runner/*.test.ts'],
  }))
    for (const [, ...paths] of readFileSync(join(ROOT, file), 'utf8').matchAll(FROM_HERE)) {
      const target = join(ROOT, dirname(file), paths.find((path) => path !== undefined) ?? '');
      found += 1;
      const isCache = relative(ROOT, target).startsWith('.cache/');
      if (!isCache && !existsSync(target)) missing.push(`${file}: ${relative(ROOT, target)}`);
    }
  assert.ok(found > 60, `only ${found} paths found: the search of this test is broken`);
  assert.deepEqual(missing, []);
});
