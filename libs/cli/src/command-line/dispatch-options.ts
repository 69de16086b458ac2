import { randomUUID } from 'node:crypto';
import {
  FleetError,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  PROTOCOL_VERSION,
} from '@hermes-fleet/protocol';
import { BUNDLE_CAPABILITY, decodeDispatch, encodeDispatch } from '@hermes-fleet/protocol/handshake';
import type { OptionSpecs, Values } from './command.ts';
import { invalidOptions } from './field-errors.ts';
import { UsageError, wholeNumber } from './option-values.ts';
import { DISPATCH_OPTIONS, OPTION_OF_FIELD } from './shared-options.ts';

type Given = Values<typeof DISPATCH_OPTIONS>;

export const describesDispatch = (values: Given): boolean =>
  Object.keys(DISPATCH_OPTIONS).some((key) => key in values);

/**
 * Builds a TASK_DISPATCH from options. Throws UsageError that names every invalid option; `targetOption` is the one for the
 * target. A path as `--repo` only adds what a worker needs for it: `withRepository` adds the rest.
 */
export function dispatchOf(values: Given, targetOption = 'target'): JsonObject {
  const { repo, base, ...contract } = values;
  const isCheckout = isCheckoutPath(repo);
  if (base !== undefined && (repo === undefined || isCheckout))
    throw new UsageError(
      '--base goes with --repo and the name of a repository; of a checkout, the commit that is checked out is sent',
    );
  if (!isCheckout) return built(values, targetOption);
  // Its bundle is known once it is sent; the capability decides where the task can go.
  return built({ ...contract, capability: [...(values.capability ?? []), BUNDLE_CAPABILITY] }, targetOption);
}

/** The dispatch with the repository that `sendCheckout` resolves with, and with all that it requires. */
export const withRepository = (dispatch: JsonObject, repository: JsonObject): JsonObject =>
  encodeDispatch(decodeDispatch(put(dispatch, ['task', 'repository'], repository)));

/** True for a path, which cannot be the name of a configured repository. */
export const isCheckoutPath = (repo: string | undefined): repo is string =>
  repo !== undefined && /\/|^\.{1,2}$/.test(repo);

function built(values: Given, targetOption: string): JsonObject {
  let dispatch: JsonObject = {
    type: 'TASK_DISPATCH',
    protocol_version: PROTOCOL_VERSION,
    task: { task_id: randomUUID() },
    requirements: { model_tier: {} },
    brief: 'Where would this go?',
    routing: { target: 'auto' },
  };
  for (const [field, option] of Object.entries(OPTION_OF_FIELD)) {
    const value = read(option, values[option]);
    if (value !== undefined) dispatch = put(dispatch, field.split('.'), value);
  }
  try {
    // Profiles of earlier releases ignore the repository, and know what it requires only if the dispatch says so.
    return encodeDispatch(decodeDispatch(dispatch));
  } catch (error) {
    if (!(error instanceof FleetError && error.code === 'INVALID_PARAMS')) throw error;
    throw invalidOptions(error.fields, { ...OPTION_OF_FIELD, 'routing.target': targetOption });
  }
}

/** `--read-only` says that the task does not write. */
function read(option: keyof Given, value: Given[keyof Given]): JsonValue | undefined {
  if (typeof value === 'object') return names(value);
  if (typeof value !== 'string') return value === true ? false : undefined;
  const { [option]: spec }: OptionSpecs = DISPATCH_OPTIONS;
  return spec?.value === 'tokens' ? wholeNumber(option, value, 0) : value;
}

function put(object: JsonObject, [name = '', ...inner]: readonly string[], value: JsonValue): JsonObject {
  const { [name]: before } = object;
  return {
    ...object,
    [name]: inner.length === 0 ? value : put(isJsonObject(before) ? before : {}, inner, value),
  };
}

/** Values of an option that may be repeated and may hold a comma-separated list. */
const names = (values: readonly string[]): string[] =>
  values.flatMap((each) => each.split(',')).map((each) => each.trim());
