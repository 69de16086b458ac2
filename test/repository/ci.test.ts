import assert from 'node:assert/strict';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { ROOT, runProgram } from '../support/fleet.ts';

/** What the parts print in place of tests, and how they end. */
const PASSED = "echo '✔ it'; echo '10 passed, 0 failed, 2 skipped'";
const FAILED = "echo '3 passed, 1 failed, 0 skipped'; exit 2";

for (const [what, first, second, lastLine, code] of [
  ['both parts pass', PASSED, PASSED, '20 passed, 0 failed, 4 skipped', 0],
  ['the first fails, and the second runs all the same', FAILED, PASSED, '13 passed, 1 failed, 2 skipped', 1],
  ['the second fails', PASSED, FAILED, '13 passed, 1 failed, 2 skipped', 1],
  ['a part dies before it counts', PASSED, 'exit 9', '10 passed, 0 failed, 2 skipped', 1],
] as const)
  test(`continuous integration counts both parts in its last line: ${what}`, async (t) => {
    const root = tempDir(t);
    cpSync(join(ROOT, '.ci'), join(root, 'checkout/.ci'), { recursive: true });
    mkdirSync(join(root, 'bin'));
    const make = [
      '#!/bin/sh',
      'case "$1" in',
      `test) case "$2" in UNTIL=[0-9]*) ;; *) exit 3 ;; esac; ${first} ;;`,
      `test-slow-part) ${second} ;;`,
      'esac',
    ];
    writeFileSync(join(root, 'bin/make'), make.join('\n'), { mode: 0o755 });
    const ran = await runProgram('bash', ['.ci/run'], {
      cwd: join(root, 'checkout'),
      env: { ...process.env, PATH: `${join(root, 'bin')}:${process.env['PATH']}` },
    });
    assert.deepEqual([ran.stdout.trim().split('\n').at(-1), ran.code], [lastLine, code], ran.stderr);
  });
