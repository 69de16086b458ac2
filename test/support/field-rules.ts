import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';

/** How a published JSON Schema defines a field. */
export interface FieldRule {
  /** `yes`; `no`; or `with x` for a field that the optional object or list entry `x` must have. */
  readonly required: string;
  readonly nullable: boolean;
}

/** The fields of a published JSON Schema, by their paths as the documents write them. */
export function fieldRules(schema: JsonObject): Map<string, FieldRule> {
  return new Map(fieldsOf(schema, '', undefined));
}

type Row = [path: string, rule: FieldRule];

/** `within` is the nearest object or list entry around the field that may be missing. */
function fieldsOf(schema: JsonObject, path: string, within: string | undefined): Row[] {
  const { properties, required } = schema;
  if (!isJsonObject(properties)) throw new Error(`${path} has no properties`);
  const names: readonly JsonValue[] = Array.isArray(required) ? required : [];
  return Object.entries(properties).flatMap(([key, field]) => {
    if (!isJsonObject(field)) throw new Error(`${path}.${key} is not a schema`);
    return fieldRows(field, path === '' ? key : `${path}.${key}`, names.includes(key), within);
  });
}

function fieldRows(field: JsonObject, path: string, isRequired: boolean, within: string | undefined): Row[] {
  const { properties, items, additionalProperties } = field;
  const inner = (at: string): string | undefined => (isRequired ? within : at);
  const whole = isRequired ? 'yes' : 'no';
  const required = isRequired && within !== undefined ? `with ${within}` : whole;
  const rule = { required, nullable: isNullable(field) };
  if (isJsonObject(properties)) return fieldsOf(field, path, inner(path));
  if (isJsonObject(items)) {
    const entry = `${path}[]`;
    return isJsonObject(items.properties) ? fieldsOf(items, entry, inner(entry)) : [[entry, rule]];
  }
  if (isJsonObject(additionalProperties)) return [[`${path}.<name>`, rule]];
  return [[path, rule]];
}

function isNullable({ type, anyOf }: JsonObject): boolean {
  const branches: readonly JsonValue[] = Array.isArray(anyOf) ? anyOf : [];
  const types: readonly (JsonValue | undefined)[] = Array.isArray(type) ? type : [type];
  return types.includes('null') || branches.some((branch) => isJsonObject(branch) && isNullable(branch));
}
