import { randomUUID } from 'node:crypto';
import {
  FleetError,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  PROTOCOL_VERSION,
} from '@hermes-fleet/protocol';
import { decodeDispatch, encodeDispatch } from '@hermes-fleet/protocol/handshake';
import type { OptionSpecs, Values } from './command.ts';
import { invalidOptions } from './field-errors.ts';
import { UsageError, wholeNumber } from './option-values.ts';
import { DISPATCH_OPTIONS, OPTION_OF_FIELD } from './shared-options.ts';

type Given = Values<typeof DISPATCH_OPTIONS>;

export const describesDispatch = (values: Given): boolean =>
  Object.keys(DISPATCH_OPTIONS).some((key) => key in values);

/**
 * Builds a TASK_DISPATCH from options. Throws UsageError that names every invalid option; `targetOption` is the one for the
 * target.
 */
export function dispatchOf(values: Given, targetOption = 'target'): JsonObject {
  if (/\/|^\.{1,2}$/.test(values.repo ?? ''))
    throw new UsageError(
      '--repo takes the name of a repository in the configuration of workers: a checkout of yours cannot be sent yet',
    );
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
