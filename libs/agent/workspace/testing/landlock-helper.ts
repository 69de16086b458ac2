import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LANDLOCK_EXEC } from '../src/confinement/landlock.ts';

const SOURCE = join(import.meta.dirname, '../src/confinement/landlock-exec.c');

/** Reason to skip the tests of Landlock on this machine, or false. */
export const withoutLandlock = reason();

function reason(): string | false {
  if (!existsSync(LANDLOCK_EXEC) && spawnSync('gcc', ['--version']).status !== 0)
    return 'no C compiler is installed: install gcc';
  return readFileSync('/proc/kallsyms', 'utf8').includes('landlock_create_ruleset')
    ? false
    : 'this kernel has no Landlock';
}

let compiled: string | undefined;

/**
 * The image's helper, or one that is compiled as the image does, where every user may run it. It stays until this process
 * ends: what a test gives back at its end may need it.
 */
export function landlockHelper(): string {
  if (existsSync(LANDLOCK_EXEC)) return LANDLOCK_EXEC;
  if (compiled !== undefined) return compiled;
  const folder = mkdtempSync(join(tmpdir(), 'hermes-helper-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  const helper = join(folder, 'landlock-exec');
  execFileSync('gcc', ['-O2', '-Wall', '-Wextra', '-Werror', '-o', helper, SOURCE]);
  compiled = helper;
  return helper;
}
