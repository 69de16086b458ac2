import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { JsonObject, JsonValue } from './json.ts';

/** The largest `task.output_schema` that is taken, in bytes of its JSON. */
export const MAX_OUTPUT_SCHEMA_BYTES = 32 * 1024;
const MAX_PROBLEMS = 20;

/** Why a JSON Schema (2020-12) cannot be used for `task.output_schema`; undefined when it can. */
export function outputSchemaProblem(schema: JsonObject): string | undefined {
  const bytes = Buffer.byteLength(JSON.stringify(schema));
  if (bytes > MAX_OUTPUT_SCHEMA_BYTES)
    return `has ${bytes} bytes, at most ${MAX_OUTPUT_SCHEMA_BYTES} are taken: make it smaller`;
  const compiled = compile(schema);
  return typeof compiled === 'string' ? compiled : undefined;
}

/**
 * What is wrong with a value by `task.output_schema`, one line each; empty when it fits. At most 20 lines, that name
 * the place in the value. `format` is not asserted. A schema that can't be used is named as the problem.
 */
export function outputProblems(schema: JsonObject, value: JsonValue): string[] {
  const compiled = compile(schema);
  if (typeof compiled === 'string') return [`output_schema ${compiled}`];
  if (compiled(value)) return [];
  return (compiled.errors ?? []).slice(0, MAX_PROBLEMS).map(describe);
}

function compile(schema: JsonObject): ValidateFunction | string {
  // A fresh instance each time: a schema's $id must not meet that of another caller's, nor live on in a cache.
  const ajv = new Ajv2020({ allErrors: true, strict: false, validateFormats: false, logger: false });
  try {
    return ajv.compile(schema);
  } catch (error) {
    return `is not a JSON Schema that can be used here: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function describe({ instancePath, message = 'does not fit', params }: ErrorObject): string {
  const where = instancePath === '' ? 'the value' : instancePath;
  const extra = 'additionalProperty' in params ? ` (${String(params.additionalProperty)})` : '';
  return `${where} ${message}${extra}`;
}
