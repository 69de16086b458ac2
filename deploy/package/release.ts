import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { folder, version } from '@hermes-fleet/installation';
import { changelogSection } from './changelog.ts';
import { licenseReport } from './licenses.ts';
import { readLock } from './lock.ts';
import { packCommit, sha256 } from './pack.ts';
import { runScript } from './script.ts';

/**
 * Writes everything of a release that needs no account into `release/<version>` of the checkout `root` (docs/releasing.md). The same
 * commit gives the same files. Throws as `packCommit` and `changelogSection` do.
 */
export function makeRelease(root: string, isPreview: boolean): string {
  const changes = changelogSection(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version(), isPreview);
  const packed = packCommit(root, join(root, '.cache/package'));
  const out = join(root, 'release', version());
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  copyFileSync(packed.file, join(out, basename(packed.file)));
  copyFileSync(join(packed.folder, 'sbom.cdx.json'), join(out, 'sbom.cdx.json'));
  archive(packed.folder, join(out, `hermes-fleet-${version()}-image.tar.gz`));
  writeFileSync(join(out, 'CHANGES.md'), changes);
  writeFileSync(join(out, 'licenses.txt'), licenseReport(readLock(root)));
  const sums = readdirSync(out)
    .sort()
    .map((name) => `${sha256(join(out, name))}  ${name}\n`);
  writeFileSync(join(out, 'SHA256SUMS'), sums.join(''));
  return out;
}

/** Archives a folder with nothing of this machine or this time in it. Needs GNU tar. */
function archive(from: string, to: string): void {
  const fixed = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--format=ustar'];
  execFileSync('tar', [...fixed, '--use-compress-program=gzip -n', '-cf', to, '-C', from, '.']);
}

if (import.meta.main)
  await runScript(() => {
    const { values } = parseArgs({ options: { preview: { type: 'boolean', default: false } } });
    const out = makeRelease(folder(), values.preview);
    process.stdout.write(`${out}:\n${readFileSync(join(out, 'SHA256SUMS'), 'utf8')}`);
  });
