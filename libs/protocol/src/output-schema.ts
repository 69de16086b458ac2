import { Ajv2020, type ErrorObject, type Options, type ValidateFunction } from 'ajv/dist/2020.js';
import type { JsonObject, JsonValue } from './json.ts';
import { withinTime } from './time-limit.ts';

/** The largest `task.output_schema` that is taken, in bytes of its JSON. */
export const MAX_OUTPUT_SCHEMA_BYTES = 32 * 1024;
const MAX_PROBLEMS = 20;
const MAX_LENGTH = 300;
/**
 * How long a schema may take to be read, and a value to be held against it, ms of computing: the whole process waits
 * meanwhile. An ordinary schema of the largest size takes less than half of it.
 */
const MAX_MS = 250;
/** How long it may take to name everything that is wrong with a value that does not fit; else it is the first thing. */
const MAX_DETAIL_MS = 50;

const OPTIONS: Options = {
  strict: false,
  validateFormats: false,
  ownProperties: true,
  logger: false,
  // Would cost several times what it saves for a validator that is used once.
  code: { optimize: false },
};
let metaSchema: Ajv2020 | undefined;

/** Why a JSON Schema (2020-12) cannot be used for `task.output_schema`; undefined when it can. */
export function outputSchemaProblem(schema: JsonObject): string | undefined {
  return guarded(() => {
    const bytes = Buffer.byteLength(JSON.stringify(schema));
    if (bytes > MAX_OUTPUT_SCHEMA_BYTES)
      return `has ${bytes} bytes, at most ${MAX_OUTPUT_SCHEMA_BYTES} are taken: make it smaller`;
    // A promise always looks like a value that fits.
    if ('$async' in schema)
      return 'is not a JSON Schema that can be used here: $async is none of its keywords';
    metaSchema ??= new Ajv2020(OPTIONS);
    metaSchema.validateSchema(schema, true);
    return withinTime(MAX_MS, () => compile(schema)) ? undefined : tooSlow('to be read');
  });
}

/**
 * What is wrong with a value by `task.output_schema`, one line each; empty when it fits. At most 20 lines of 300 characters, that
 * name the place in the value. `format` is not asserted. A schema that can't be used is named as the problem, also one that
 * takes too long.
 */
export function outputProblems(schema: JsonObject, value: JsonValue): string[] {
  const unusable = outputSchemaProblem(schema);
  if (unusable !== undefined) return [`output_schema ${unusable}`];
  let problems: readonly ErrorObject[] = [];
  const failed = guarded(() => {
    const first = withinTime(MAX_MS, () => errorsOf(compile(schema), value));
    if (!first) return tooSlow('to judge the value');
    if (first.value.length === 0) return undefined;
    const all = withinTime(MAX_DETAIL_MS, () => errorsOf(compile(schema, { allErrors: true }), value));
    problems = (all ?? first).value.slice(0, MAX_PROBLEMS);
    return undefined;
  });
  return failed === undefined ? problems.map(describe) : [`output_schema ${failed}`];
}

/** A fresh instance each time: a schema's $id must not meet that of another caller's, nor live on in a cache. */
function compile(schema: JsonObject, options: Options = {}): ValidateFunction {
  return new Ajv2020({ ...OPTIONS, ...options, validateSchema: false }).compile(schema);
}

function errorsOf(validate: ValidateFunction, value: JsonValue): readonly ErrorObject[] {
  return validate(value) ? [] : (validate.errors ?? []);
}

/** Also a schema that refers to itself without end, and one or a value that is too deep. */
function guarded(work: () => string | undefined): string | undefined {
  try {
    return work();
  } catch (error) {
    return `is not a JSON Schema that can be used here: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function tooSlow(what: string): string {
  return `takes more than ${MAX_MS} ms of computing ${what}: make it simpler`;
}

function describe({ instancePath, message = 'does not fit', params }: ErrorObject): string {
  const where = instancePath === '' ? 'the value' : instancePath;
  const extra = 'additionalProperty' in params ? ` (${String(params.additionalProperty)})` : '';
  return `${where} ${message}${extra}`.slice(0, MAX_LENGTH);
}
