import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { folder, version } from '@hermes-fleet/installation';
import { changelogSection } from './changelog.ts';
import { licenseReport } from './licenses.ts';
import { readLock } from './lock.ts';
import { type Packed, packCommit, sha256 } from './pack.ts';
import { runScript } from './script.ts';

/**
 * Writes everything of a release that needs no account into the folder `out` (docs/releasing.md): the package, and what describes
 * it and the lock file of the checkout `root`. The same package gives the same files.
 */
export function writeRelease(root: string, packed: Packed, out: string, changes: string): void {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  copyFileSync(packed.file, join(out, basename(packed.file)));
  copyFileSync(join(packed.folder, 'sbom.cdx.json'), join(out, 'sbom.cdx.json'));
  archive(packed.folder, join(out, `hermes-fleet-${version()}-image.tar.gz`));
  writeFileSync(join(out, 'CHANGES.md'), changes);
  writeFileSync(join(out, 'licenses.txt'), licenseReport(readLock(root)));
  const names = readdirSync(out).sort();
  writeFileSync(
    join(out, 'SHA256SUMS'),
    names.map((name) => `${sha256(join(out, name))}  ${name}\n`).join(''),
  );
}

/** Archives a folder with nothing of this machine or this time in it. Needs GNU tar. */
function archive(from: string, to: string): void {
  const fixed = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--format=ustar'];
  execFileSync('tar', [...fixed, '--use-compress-program=gzip -n', '-cf', to, '-C', from, '.']);
}

if (import.meta.main)
  await runScript(() => {
    const { values } = parseArgs({ options: { preview: { type: 'boolean', default: false } } });
    const root = folder();
    // Refused before the package is built, which takes longer.
    const changes = changelogSection(
      readFileSync(join(root, 'CHANGELOG.md'), 'utf8'),
      version(),
      values.preview,
    );
    const out = join(root, 'release', version());
    writeRelease(root, packCommit(root, join(root, '.cache/package')), out, changes);
    process.stdout.write(`${out}:\n${readFileSync(join(out, 'SHA256SUMS'), 'utf8')}`);
  });
