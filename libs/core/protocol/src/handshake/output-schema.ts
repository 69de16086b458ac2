import { Ajv2020, type ErrorObject, type Options, type ValidateFunction } from 'ajv/dist/2020.js';
import type { JsonObject, JsonValue } from '../wire/json.ts';
import { withinTime } from './time-limit.ts';

/** The maximum size of `task.output_schema`, in bytes of its JSON. */
export const MAX_OUTPUT_SCHEMA_BYTES = 32 * 1024;
const MAX_PROBLEMS = 20;
const MAX_PROBLEM_CHARS = 300;
/**
 * The maximum time to compile a schema, and to validate a value, in ms of computing: both block the process. An
 * ordinary schema of the maximum size needs less than half of it.
 */
const MAX_MS = 250;
/** The maximum time to find every problem of an invalid value; beyond it, only the first problem is reported. */
const MAX_DETAIL_MS = 50;

const OPTIONS: Options = {
  strict: false,
  validateFormats: false,
  ownProperties: true,
  logger: false,
  // For a validator that is used once, optimizing costs several times what it saves.
  code: { optimize: false },
};
let metaSchema: Ajv2020 | undefined;

/** Describes why a JSON Schema (2020-12) cannot be used as `task.output_schema`; undefined when it can. */
export function outputSchemaProblem(schema: JsonObject): string | undefined {
  return guarded(() => {
    const bytes = Buffer.byteLength(JSON.stringify(schema));
    if (bytes > MAX_OUTPUT_SCHEMA_BYTES)
      return `has ${bytes} bytes, at most ${MAX_OUTPUT_SCHEMA_BYTES} are taken: make it smaller`;
    // An asynchronous validator returns a promise, which would count as valid.
    if ('$async' in schema)
      return 'is not a JSON Schema that can be used here: $async is not one of its keywords';
    metaSchema ??= new Ajv2020(OPTIONS);
    metaSchema.validateSchema(schema, true);
    return withinTime(MAX_MS, () => compile(schema)) ? undefined : tooSlow('to be read');
  });
}

/**
 * Validates a value against `task.output_schema`. Returns one line for each problem, with its path in the value; empty
 * when the value is valid. At most 20 lines of 300 characters. `format` is not asserted. An unusable or too slow schema
 * is itself the problem.
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

/** A new instance each time: a schema's $id must not collide with another caller's, nor stay in a cache. */
function compile(schema: JsonObject, options: Options = {}): ValidateFunction {
  return new Ajv2020({ ...OPTIONS, ...options, validateSchema: false }).compile(schema);
}

function errorsOf(validate: ValidateFunction, value: JsonValue): readonly ErrorObject[] {
  return validate(value) ? [] : (validate.errors ?? []);
}

/** Also catches the stack overflow of endless references and of too deep schemas and values. */
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
  return `${where} ${message}${extra}`.slice(0, MAX_PROBLEM_CHARS);
}
