import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';

test('make trader lists the strategies, unless ARGS says more', () => {
  const made = (...args: string[]): string =>
    spawnSync('make', ['--dry-run', 'trader', ...args], {
      cwd: join(import.meta.dirname, '..'),
      encoding: 'utf8',
    }).stdout;
  assert.match(made(), /^\.\/fleet trader list$/m);
  assert.match(made('ARGS=audit verify'), /^\.\/fleet trader audit verify$/m);
});
