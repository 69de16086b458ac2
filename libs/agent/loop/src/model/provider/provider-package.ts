import { pathToFileURL } from 'node:url';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { TESTED_PACKAGES } from '@hermes-fleet/installation';
import { FleetError } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { findPackage } from '../../config/optional-package.ts';
import type { ReadableEnv } from '../../config/provider-address.ts';

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
 * Creates a model with an optional `ai` package (docs/agent.md#other-providers). Throws CONFIG_INVALID with the command that installs
 * it, or with what is wrong with it.
 */
export async function packageModel(request: PackageRequest, env: ReadableEnv): Promise<LanguageModelV4> {
  const { name, settings } = request;
  const { entry } = await findPackage(request.package, env, 'provider.package');
  const loaded: unknown = await import(pathToFileURL(entry).href);
  const create = factoryOf(request, z.looseObject({}).parse({ ...Object(loaded) }));
  const provider = AnyFunction.safeParse(create(settings)).data;
  const model = Model.safeParse(provider?.(name)).data;
  if (model !== undefined) return model;
  const release = TESTED_PACKAGES[request.package] ?? '<release>';
  throw FleetError.ofKey(
    'config.yaml provider.package',
    `${request.package} makes no language model of version v4: install a release for ai 7, by fleet add ${request.package}@${release}`,
  );
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
