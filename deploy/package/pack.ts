import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { folder } from '@hermes-fleet/installation';
import { runScript } from './script.ts';

/** A package as npm installs it. */
export interface Packed {
  readonly file: string;
  /** The folder that it was packed from. */
  readonly folder: string;
}

const MAX_OUTPUT = 64 * 1024 * 1024;
const git = (root: string, ...args: string[]): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: MAX_OUTPUT }).trim();

/**
 * Packs the last commit of the checkout `root`, with the packages that are installed there, in the folder `dir` of the same
 * file system. Throws where files differ from the commit, with their names.
 */
export function packCommit(root: string, dir: string): Packed {
  const changed = git(root, 'status', '--porcelain');
  if (changed !== '')
    throw new Error(
      `the package is made from a commit, and these files differ from it: commit or stash them\n${changed}`,
    );
  const sources = join(dir, 'sources');
  rmSync(sources, { recursive: true, force: true });
  mkdirSync(sources, { recursive: true });
  const archive = join(dir, 'sources.tar');
  git(root, 'archive', `--output=${archive}`, 'HEAD');
  execFileSync('tar', ['-xf', archive, '-C', sources]);
  try {
    return packSources(root, sources, join(dir, 'package'), git(root, 'rev-parse', 'HEAD'));
  } finally {
    rmSync(archive);
    rmSync(sources, { recursive: true });
  }
}

/** Packs the files in `sources` with the installed packages of the checkout `root`, beside the folder `out`, which it writes. */
export function packSources(root: string, sources: string, out: string, revision: string): Packed {
  // Hard links: a bundler that followed a symbolic link would take the sources of `root`.
  execFileSync('cp', ['-al', join(root, 'node_modules'), join(sources, 'node_modules')]);
  const build = join(sources, 'deploy/package/build.ts');
  execFileSync(process.execPath, [build, '--out', out, '--revision', revision], { stdio: 'inherit' });
  const dir = join(out, '..');
  const pack = ['pack', '--silent', '--ignore-scripts', '--pack-destination', dir, out];
  return { file: join(dir, execFileSync('npm', pack, { encoding: 'utf8' }).trim()), folder: out };
}

/** The SHA-256 of a file, in hex. */
export const sha256 = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

if (import.meta.main)
  await runScript(() => {
    const root = folder();
    const { file } = packCommit(root, join(root, '.cache/package'));
    const megabytes = (readFileSync(file).length / 1e6).toFixed(1);
    process.stdout.write(`${file}, ${megabytes} MB\nsha256 ${sha256(file)}\n`);
  });
