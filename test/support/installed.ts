import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { buildPackage } from '../../deploy/package/build.ts';
import { ROOT } from './fleet.ts';

/** The fleet command of the package, installed outside of the checkout. */
export interface Installed {
  /** An empty folder. */
  readonly dir: string;
  /** Runs `fleet` in a folder below `dir`, and returns what it printed. Throws where its exit code is not `code`. */
  fleet(folder: string, args: readonly string[], code?: number): string;
}

/**
 * Builds the package, packs it, and installs it as npm does without a network, with each dependency in a folder of its own, and a
 * HOME in which nothing can be written. `env` is given to the command.
 */
export async function install(t: TestContext, env: Readonly<Record<string, string>>): Promise<Installed> {
  const dir = tempDir(t);
  const [built, prefix] = [join(dir, 'package'), join(dir, 'prefix')];
  await buildPackage(ROOT, built, { revision: undefined });
  mkdirSync(prefix);
  writeFileSync(join(prefix, 'package.json'), '{"private":true}\n');
  const own = {
    PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
    // Nothing can be written below a file, also as root.
    HOME: join(prefix, 'package.json'),
    npm_config_cache: join(dir, 'npm'),
    TMPDIR: dir,
  };
  const run = (cwd: string, file: string, args: readonly string[], code = 0): string => {
    const { status, stdout, stderr, error } = spawnSync(file, args, {
      cwd,
      env: { ...own, ...env },
      encoding: 'utf8',
      timeout: 600_000,
    });
    if (error) throw error;
    if (status === code) return stdout;
    throw new Error(`${[file, ...args].join(' ')} ended with ${status}\n${stdout}\n${stderr}`);
  };
  const tarball = run(dir, 'npm', ['pack', '--silent', '--ignore-scripts', built]).trim();
  run(prefix, 'npm', [
    ...['install', '--offline', '--no-audit', '--no-fund', '--install-strategy=nested'],
    join(dir, tarball),
  ]);
  const command = join(prefix, 'node_modules/.bin/fleet');
  return { dir, fleet: (folder, args, code) => run(join(dir, folder), command, args, code) };
}
