import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';

test('make size counts sources by package, without tests, test support and fixtures, and compares with a commit', (t) => {
  const dir = tempDir(t);
  const git = (...args: readonly string[]) => execFileSync('git', ['-C', dir, ...args]);
  const write = (path: string, lines: number) => {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), 'x;\n'.repeat(lines));
    git('add', path);
  };
  const size = (...args: readonly string[]) =>
    execFileSync(process.execPath, [join(import.meta.dirname, 'size.ts'), ...args], {
      cwd: dir,
      encoding: 'utf8',
    });
  git('init', '-q');
  write('libs/core/net/src/a/b.ts', 3);
  write('services/console/src/web/page.js', 4);
  for (const path of ['src/b.test.ts', 'testing/kit.ts', 'src/fixtures/c.ts', 'package.json'])
    write(`libs/core/net/${path}`, 9);
  git('-c', 'user.name=u', '-c', 'user.email=u@x', 'commit', '-qm', 'x');
  write('libs/core/net/src/a/b.ts', 2);
  write('libs/cli/src/main.ts', 5);
  const rows = (text: string) =>
    text
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/\s+/));
  assert.deepEqual(rows(size()), [
    ['5', 'libs/cli'],
    ['2', 'libs/core/net'],
    ['4', 'services/console'],
    ['11', 'all'],
  ]);
  assert.deepEqual(rows(size('HEAD')), [
    ['5', '5', 'libs/cli'],
    ['2', '-1', 'libs/core/net'],
    ['4', '0', 'services/console'],
    ['11', '4', 'all'],
  ]);
});
