import { isBuiltin } from 'node:module';
import { relative } from 'node:path';
import { PROGRAMS } from '@hermes-fleet/installation';
import { rolldown } from 'rolldown';

/** The parts that services run after their start, as files of their own, so that a cache can be filled without a start. */
const STARTS = {
  'start-profile': 'services/profile/src/start.ts',
  'start-trader': 'services/trader/src/start.ts',
  'start-console': 'services/console/src/start.ts',
};

/**
 * Bundles the programs of the checkout `root` into `<program>.js` and chunks in the folder `out`. Resolves with the modules that
 * are in them, relative to `root`. Throws on a warning of the bundler, and on an import of what is not in the bundle.
 */
export async function bundle(root: string, out: string): Promise<readonly string[]> {
  await using bundler = await rolldown({
    cwd: root,
    input: { ...PROGRAMS, ...STARTS },
    platform: 'node',
    onLog(level, { message }) {
      if (level === 'warn') throw new Error(`the bundle has a fault: ${message}`);
    },
  });
  const { output } = await bundler.write({
    dir: out,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
  });
  const chunks = output.filter((each) => each.type === 'chunk');
  const files = new Set(chunks.map(({ fileName }) => fileName));
  for (const { fileName, imports, dynamicImports } of chunks)
    for (const name of [...imports, ...dynamicImports])
      if (!files.has(name) && !isBuiltin(name))
        throw new Error(`${fileName} imports ${name}, which is not in the package`);
  return chunks
    .flatMap(({ moduleIds }) => moduleIds)
    .filter((id) => !id.startsWith('\0'))
    .map((id) => relative(root, id))
    .sort();
}
