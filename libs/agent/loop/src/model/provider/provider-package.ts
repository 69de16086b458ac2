import { readFileSync } from 'node:fs';
import { createRequire, findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { FleetError, isJsonObject } from '@hermes-fleet/protocol';
import { z } from 'zod';

/** Names the folder that packages of other providers are installed in. */
const PACKAGES_VARIABLE = 'MODEL_PACKAGES_DIR';

/** The releases for `ai` 7: npm may choose an older one, for an older Node. */
const MAJORS: Readonly<Record<string, number>> = {
  '@ai-sdk/deepseek': 3,
  '@ai-sdk/google': 4,
  '@ai-sdk/groq': 4,
  '@ai-sdk/mistral': 4,
  '@ai-sdk/openai': 4,
  '@ai-sdk/xai': 5,
};

const installation = (name: string): string =>
  `npm install --prefix <folder> ${[name, MAJORS[name] ?? []].flat().join('@')}`;

const AnyFunction = z.custom<(...args: unknown[]) => unknown>((value) => typeof value === 'function');
const Model = z.custom<LanguageModelV4>(
  (value) =>
    z.object({ specificationVersion: z.literal('v4'), doStream: AnyFunction }).safeParse(value).success,
);

interface PackageRequest {
  readonly package: string;
  readonly factory?: string | undefined;
  readonly name: string;
  readonly settings: object;
}

/**
 * Creates a model with an `ai` package from MODEL_PACKAGES_DIR, else from the application's own
 * (docs/agent.md#other-providers). Throws CONFIG_INVALID with the command that installs it, or with what is wrong with it.
 */
export async function packageModel(
  request: PackageRequest,
  env: { read(name: string): string | undefined },
): Promise<LanguageModelV4> {
  const { name, settings } = request;
  const exported = await load(request.package, env);
  const create = factoryOf(request, exported);
  const provider = AnyFunction.safeParse(create(settings)).data;
  const model = Model.safeParse(provider?.(name)).data;
  if (model !== undefined) return model;
  throw FleetError.ofKey(
    'config.yaml provider.package',
    `${request.package} makes no language model of version v4: install a release for ai 7 with ${installation(request.package)}`,
  );
}

async function load(
  name: string,
  env: { read(name: string): string | undefined },
): Promise<Readonly<Record<string, unknown>>> {
  const folder = env.read(PACKAGES_VARIABLE) || undefined;
  const from = folder === undefined ? import.meta.url : join(folder, 'package.json');
  let entry: string;
  try {
    entry = entryOf(name, from);
  } catch (cause) {
    const where = folder === undefined ? 'is not installed' : `is not in ${PACKAGES_VARIABLE}=${folder}`;
    const install = `run ${installation(name)} and set ${PACKAGES_VARIABLE} to that folder's absolute path`;
    throw FleetError.ofKey('config.yaml provider.package', `${name} ${where}; ${install}`, cause);
  }
  const loaded: unknown = await import(pathToFileURL(entry).href);
  return z.looseObject({}).parse({ ...Object(loaded) });
}

/** The file that `import` loads. Throws if the package is not there. */
function entryOf(name: string, from: string): string {
  try {
    return createRequire(from).resolve(name);
  } catch (cause) {
    const manifest = findPackageJSON(name, from);
    if (manifest === undefined) throw cause;
    // `require` does not see what a package exports for `import` only.
    const { exports } = z.looseObject({}).parse(JSON.parse(readFileSync(manifest, 'utf8')));
    const target = importTarget(exports);
    if (target === undefined) throw cause;
    return join(dirname(manifest), target);
  }
}

const IMPORT_CONDITIONS: ReadonlySet<string> = new Set(['.', 'node', 'import', 'default']);

/** https://nodejs.org/api/packages.html#conditional-exports: the first condition that holds decides. */
function importTarget(exports: unknown): string | undefined {
  if (typeof exports === 'string') return exports;
  if (!isJsonObject(exports)) return undefined;
  for (const [condition, target] of Object.entries(exports)) {
    const found = IMPORT_CONDITIONS.has(condition) ? importTarget(target) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function factoryOf(
  { package: name, factory }: PackageRequest,
  exported: Readonly<Record<string, unknown>>,
): (settings: object) => unknown {
  const named = Object.entries(exported).flatMap(([key, value]) => {
    const found = AnyFunction.safeParse(value).data;
    return found !== undefined && (factory === undefined ? /^create[A-Z]/.test(key) : key === factory)
      ? [{ key, found }]
      : [];
  });
  const [first] = named;
  // A package may export one function under two names.
  if (first !== undefined && named.every(({ found }) => found === first.found)) return first.found;
  if (first === undefined) {
    const what = factory === undefined ? 'no function create…()' : `no function ${factory}()`;
    throw FleetError.ofKey(
      'config.yaml provider.factory',
      `${name} exports ${what}; name the one that creates its provider`,
    );
  }
  const keys = named.map(({ key }) => key).join(', ');
  throw FleetError.ofKey(
    'config.yaml provider.factory',
    `${name} exports several functions: name one of ${keys}`,
  );
}
