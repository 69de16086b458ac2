import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { LANDLOCK_EXEC } from '../confinement/landlock.ts';

const SOURCE = join(import.meta.dirname, '../confinement/landlock-exec.c');

/** Reason to skip the tests of Landlock on this machine, or false. */
export const withoutLandlock = reason();

function reason(): string | false {
  if (!existsSync(LANDLOCK_EXEC) && spawnSync('gcc', ['--version']).status !== 0)
    return 'no C compiler is installed: install gcc';
  return readFileSync('/proc/kallsyms', 'utf8').includes('landlock_create_ruleset')
    ? false
    : 'this kernel has no Landlock';
}

/** The image's helper, or one that is compiled as the image does, where every user may run it. */
export function landlockHelper(t: TestContext): string {
  if (existsSync(LANDLOCK_EXEC)) return LANDLOCK_EXEC;
  const folder = tempDir(t);
  chmodSync(folder, 0o755);
  const helper = join(folder, 'landlock-exec');
  execFileSync('gcc', ['-O2', '-Wall', '-Wextra', '-Werror', '-o', helper, SOURCE]);
  return helper;
}
