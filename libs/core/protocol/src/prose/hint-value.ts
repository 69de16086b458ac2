import { isAlias, isMap, isNode, isScalar, isSeq, type Node, parseDocument } from 'yaml';
import { type JsonObject, type JsonValue, parseJson } from '../wire/json.ts';
import { isNestedDeeper } from '../wire/nesting.ts';

/** Words stay text (`2.0`, `no`, `0123`); a value is parsed as JSON or YAML. */
export type HintKind = 'word' | 'words' | 'map' | 'value';

/** In characters. JSON parses fast; other YAML takes up to 20 microseconds per character. */
const MAX_JSON_LENGTH = 64 * 1024;
const MAX_YAML_LENGTH = 2 * 1024;
const MAX_DEPTH = 100;

/**
 * Parses the value of a hint. A value that cannot be read (invalid YAML, anchors, aliases, tags, more than 64 KiB of JSON
 * or 2 KiB of other YAML) stays text, so that the dispatch schema refuses it with the field's name. Never throws.
 */
export function hintValue(text: string, kind: HintKind): JsonValue {
  const value = jsonValue(text, kind) ?? yamlValue(text, kind === 'value' ? 'core' : 'failsafe') ?? text;
  if (kind === 'words' && typeof value === 'string' && !value.startsWith('['))
    return value.trim() === '' ? [] : value.split(',').map((name) => name.trim());
  return value;
}

function jsonValue(text: string, kind: HintKind): JsonValue | undefined {
  if (text.length > MAX_JSON_LENGTH || !/^[[{"]/.test(text)) return undefined;
  const value = parseJson(text);
  if (value === undefined || isNestedDeeper(value, MAX_DEPTH)) return undefined;
  return kind === 'value' || onlyText(value) ? value : undefined;
}

function yamlValue(text: string, schema: 'core' | 'failsafe'): JsonValue | undefined {
  if (text.length > MAX_YAML_LENGTH || brackets(text) > MAX_DEPTH) return undefined;
  const { contents, errors } = parseDocument(text, { schema, stringKeys: true, logLevel: 'silent' });
  if (errors.length > 0) return undefined;
  return contents === null ? '' : fromNode(contents, 0);
}

/** Converts a YAML node to a plain value; undefined for anchors, aliases, tags and non-string keys. */
function fromNode(node: Node, depth: number): JsonValue | undefined {
  if (depth > MAX_DEPTH || isAlias(node) || node.tag !== undefined || node.anchor) return undefined;
  if (isScalar(node)) return scalar(node.value);
  if (isSeq(node)) return all(node.items.map((item) => member(item, depth)));
  if (!isMap(node)) return undefined;
  const entries: [string, JsonValue][] = [];
  for (const { key, value } of node.items) {
    const read = isScalar(key) && typeof key.value === 'string' ? member(value, depth) : undefined;
    if (read === undefined || !isScalar(key) || key.value === '__proto__') return undefined;
    entries.push([String(key.value), read]);
  }
  return Object.fromEntries(entries) satisfies JsonObject;
}

function member(value: unknown, depth: number): JsonValue | undefined {
  if (value === null) return null;
  return isNode(value) ? fromNode(value, depth + 1) : undefined;
}

function scalar(value: unknown): JsonValue | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  return value === null || typeof value === 'string' || typeof value === 'boolean' ? value : undefined;
}

function all(values: readonly (JsonValue | undefined)[]): JsonValue[] | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === values.length ? known : undefined;
}

function onlyText(value: JsonValue): boolean {
  if (typeof value === 'string') return true;
  return value !== null && typeof value === 'object' && Object.values(value).every(onlyText);
}

/** Upper bound of the bracket depth: brackets in quotes count too. */
function brackets(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const char of text) {
    if (char === '[' || char === '{') depth += 1;
    if (char === ']' || char === '}') depth = Math.max(0, depth - 1);
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}
