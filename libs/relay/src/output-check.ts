import { isJsonObject, type JsonObject, type JsonValue, outputProblems } from '@hermes-fleet/protocol';

const MAX_PROBLEMS = 5;

/** What is wrong with the `output` of a result, a few short lines; empty when it is what was asked for. */
export function outputMisses(output: unknown, schema: JsonObject | undefined): string[] {
  if (output === undefined) return ['there is no output'];
  if (schema === undefined || !isJsonValue(output)) return [];
  return outputProblems(schema, output).slice(0, MAX_PROBLEMS);
}

const FENCED = /^(?:`{3}|~{3})[A-Za-z]*\r?\n([\s\S]*)\n(?:`{3}|~{3})$/;

/** The JSON value that a text is, bare or in one code fence, where it fits; what `partial` work has to show. */
export function jsonIn(text: string, schema: JsonObject | undefined): JsonValue | undefined {
  const whole = text.trim();
  try {
    const value: JsonValue = JSON.parse(FENCED.exec(whole)?.[1] ?? whole);
    return outputMisses(value, schema).length === 0 ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a parsed value is one that JSON can carry: anything but undefined is, after the wire. */
function isJsonValue(value: unknown): value is JsonValue {
  return value === null || isJsonObject(value) || Array.isArray(value) || typeof value !== 'object';
}
