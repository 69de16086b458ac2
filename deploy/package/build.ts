import {
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ASSETS, folder } from '@hermes-fleet/installation';
import { z } from 'zod';
import { VENDOR } from '../../services/console/src/web/static-files.ts';
import { bundle } from './bundle.ts';
import { containedFaults, licenseFaults } from './licenses.ts';
import { type LockedPackage, readLock } from './lock.ts';
import { thirdPartyNotices } from './notices.ts';
import { softwareBill } from './sbom.ts';
import { runScript } from './script.ts';

/** Files that the package has at the same paths as a checkout; the image is built from those in `deploy` and `libs`. */
const COPIED = [
  'CHANGELOG.md',
  'LICENSE',
  'deploy/docker/Dockerfile',
  'deploy/docker/entrypoint.sh',
  'deploy/docker/healthcheck.mjs',
  'deploy/docker/healthcheck.sh',
  'deploy/docker/keys.sh',
  'libs/agent/workspace/src/confinement/landlock-exec.c',
];
const BIN = 'bin/fleet.cjs';
/** Files beside assets in the sources that are not read at run time. */
const NOT_AN_ASSET = /\.ts$|\.test\.\w+$|\/tsconfig\.json$/;

const manifest = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string(),
  license: z.string(),
  repository: z.unknown().optional(),
  engines: z.object({ node: z.string() }),
});

/**
 * Writes the package from the sources of the checkout `root` into the folder `out`, which it empties first. The same sources and
 * the same `revision` give the same files. Throws on a fault of the bundle, a licence that is not allowed, and installed packages
 * that differ from package-lock.json. Without templates, its `fleet init` does not work: they are the configuration of the checkout, and
 * an image of that would be built anew after each change of it.
 */
export async function buildPackage(
  root: string,
  out: string,
  {
    revision,
    hasTemplates = true,
  }: { readonly revision?: string | undefined; readonly hasTemplates?: boolean },
): Promise<void> {
  const lock = readLock(root);
  refuse(licenseFaults(lock));
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });

  const modules = await bundle(root, join(out, 'dist'));
  const copy = (from: string, to: string): void =>
    cpSync(join(root, from), join(out, to), { recursive: true, filter: (path) => !NOT_AN_ASSET.test(path) });
  const { vendor, ...own } = ASSETS;
  for (const [name, path] of Object.entries(own))
    if (hasTemplates || !name.startsWith('fleet-folder/')) copy(path, `assets/${name}`);
  const vendored = VENDOR.flatMap(({ package: name, file }) => [`${name}/${file}`, `${name}/package.json`]);
  for (const path of vendored) copy(`${vendor}/${path}`, `assets/vendor/${path}`);
  for (const path of COPIED) copy(path, path);
  copy('deploy/package/README.md', 'README.md');
  copy(`deploy/package/${BIN}`, BIN);

  const product = manifest.parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));
  const { name, version, description, license, repository, engines } = product;
  const bin = { fleet: BIN, 'hermes-fleet': BIN };
  const written = {
    name,
    version,
    description,
    license,
    repository,
    type: 'module',
    bin,
    engines,
    gitHead: revision,
  };
  writeFileSync(join(out, 'package.json'), `${JSON.stringify(written, null, 2)}\n`);
  // Confined commands, such as MCP servers, read this folder only.
  writeFileSync(join(out, 'dist/package.json'), '{ "type": "module" }\n');
  const contained = packagesOf([...modules, ...vendored.map((path) => `${vendor}/${path}`)], lock);
  refuse(containedFaults(contained));
  writeFileSync(join(out, 'THIRD-PARTY-NOTICES'), thirdPartyNotices(root, contained));
  writeFileSync(join(out, 'sbom.cdx.json'), softwareBill(product, contained));

  // The same modes whatever the umask is.
  for (const path of globSync('**', { cwd: out })) {
    const isRunnable = statSync(join(out, path)).isDirectory() || path === BIN;
    chmodSync(join(out, path), isRunnable ? 0o755 : 0o644);
  }
}

function refuse(faults: readonly string[]): void {
  if (faults.length > 0)
    throw new Error(`licences that deploy/package/licenses.ts does not allow:\n${faults.join('\n')}`);
}

/** The packages of others that these files belong to, sorted; one that is installed at two places is there once. */
function packagesOf(files: readonly string[], lock: readonly LockedPackage[]): LockedPackage[] {
  const paths = new Set(files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  const found = lock.filter(({ path }) => paths.delete(path));
  if (paths.size > 0)
    throw new Error(`package-lock.json does not have ${[...paths].join(', ')}: run npm install`);
  const unique = new Map(found.map((each) => [`${each.name} ${each.version}`, each]));
  return [...unique].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
}

if (import.meta.main)
  await runScript(async () => {
    const { values } = parseArgs({
      options: {
        out: { type: 'string' },
        revision: { type: 'string' },
        'without-templates': { type: 'boolean' },
      },
    });
    if (values.out === undefined)
      throw new Error(
        'usage: node deploy/package/build.ts --out <folder> [--revision <commit>] [--without-templates]',
      );
    await buildPackage(folder(), resolve(values.out), {
      revision: values.revision,
      hasTemplates: values['without-templates'] !== true,
    });
  });
