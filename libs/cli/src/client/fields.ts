import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';

// Readers for the fields of an answer. A missing field is shown as missing and never fails a command.

const MISSING = '-';

export function textAt(object: JsonObject, key: string): string {
  const value = object[key];
  return value === undefined || value === null ? MISSING : String(value);
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
