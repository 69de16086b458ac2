import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';

/** The readers of an answer's fields: what is missing is shown as missing, never as an error. */
const NOTHING = '-';

export function textAt(object: JsonObject, key: string): string {
  const value = object[key];
  return value === undefined || value === null ? NOTHING : String(value);
}

export function objectAt(object: JsonObject, key: string): JsonObject {
  const value = object[key];
  return isJsonObject(value) ? value : {};
}

export function objectsAt(object: JsonObject, key: string): JsonObject[] {
  return listAt(object, key).filter(isJsonObject);
}

export function textsAt(object: JsonObject, key: string): string[] {
  return listAt(object, key).map(String);
}

function listAt(object: JsonObject, key: string): JsonValue[] {
  const value = object[key];
  return Array.isArray(value) ? value : [];
}
