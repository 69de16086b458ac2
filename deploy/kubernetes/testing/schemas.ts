import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT, runProgram } from '../../../test/support/fleet.ts';
import { id, type Manifest } from './render.ts';

/** The packages with the published OpenAPI schemas of two versions of Kubernetes (docs/dependencies.md). */
export const VERSIONS: Readonly<Record<string, string>> = {
  '1.33': 'kubernetes-models-1.33',
  '1.36': 'kubernetes-models',
};
/** The packages with the schemas of custom resources. */
const CUSTOM: Readonly<Record<string, string>> = {
  'monitoring.coreos.com/v1': '@kubernetes-models/prometheus-operator',
  'keda.sh/v1alpha1': '@kubernetes-models/keda',
};

const moduleOf = (models: string, { apiVersion }: Manifest): string =>
  `${CUSTOM[apiVersion] ?? models}/${apiVersion}`;

/** Returns the wrong types, formats, enumerations and missing fields of manifests, by the published schemas of a version. */
export async function schemaProblems(models: string, manifests: readonly Manifest[]): Promise<string[]> {
  const found = await Promise.all(
    manifests.map(async (manifest) => {
      const kinds: unknown = await import(moduleOf(models, manifest));
      const Model = (kinds as Record<string, new (data: Manifest) => { validate(): void }>)[manifest.kind];
      if (!Model) return [`${id(manifest)}: ${manifest.apiVersion} has no such kind`];
      try {
        new Model(manifest).validate();
        return [];
      } catch (error) {
        return [`${id(manifest)}: ${error instanceof Error ? error.message : String(error)}`];
      }
    }),
  );
  return found.flat();
}

/**
 * Returns the type errors of manifests. The published types know every field, so they find one that does not exist, which the
 * schemas let pass.
 */
export async function typeProblems(models: string, manifests: readonly Manifest[]): Promise<string[]> {
  const dir = mkdtempSync(join(tmpdir(), 'manifests-'));
  try {
    symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'));
    const lines = manifests.flatMap((manifest, at) => [
      `import type { I${manifest.kind} as T${at} } from '${moduleOf(models, manifest)}/${manifest.kind}';`,
      `export const x${at}: T${at} = ${JSON.stringify(manifest)};`,
    ]);
    writeFileSync(join(dir, 'manifests.ts'), lines.join('\n'));
    const compilerOptions = {
      module: 'nodenext',
      target: 'esnext',
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      types: [],
      preserveSymlinks: true,
    };
    writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['manifests.ts'] }));
    writeFileSync(join(dir, 'package.json'), JSON.stringify({ type: 'module' }));
    const { code, stdout } = await runProgram(join(ROOT, 'node_modules/.bin/tsc'), ['--project', dir]);
    const problems = stdout.split('\n').filter((line) => line.includes('error TS'));
    if (code !== 0 && problems.length === 0) throw new Error(`tsc: exit code ${code}\n${stdout}`);
    return problems.map((line) => {
      const at = /manifests\.ts\((\d+),/.exec(line)?.[1];
      const manifest = at === undefined ? undefined : manifests[Math.floor((Number(at) - 1) / 2)];
      return manifest ? `${id(manifest)}: ${line.replace(/^.*error TS\d+: /, '')}` : line;
    });
  } finally {
    rmSync(dir, { recursive: true });
  }
}
