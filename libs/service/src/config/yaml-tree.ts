import { FleetError, fieldPath } from '@hermes-fleet/protocol';
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseAllDocuments,
  parseDocument,
  type Scalar,
  type YAMLError,
} from 'yaml';
import { interpolate } from './interpolate.ts';
import type { Problem } from './problems.ts';
import type { SecretEnv } from './secret-env.ts';

export type Path = readonly PropertyKey[];

/** How a scalar got its value: as written, in quotes, or from the environment. */
export type Origin = 'plain' | 'quoted' | 'environment';

/** A YAML file as plain values that still know where they came from. */
export interface YamlTree {
  readonly value: unknown;
  readonly problems: readonly Problem[];
  /** Line, path and variables of what came from the environment. */
  readonly notes: readonly string[];
  /** The line of the key or item at this path, or of the nearest one above it. */
  lineOf(path: Path): number;
  originOf(path: Path): Origin;
  /** Whether there is no value at this path because of a problem that is told already. */
  isBroken(path: Path): boolean;
}

const MAX_VALUES = 20_000;
const MAX_DEPTH = 64;
const MAX_ALIASES = 100;

/**
 * Parses YAML 1.2 strictly: one document, unique string keys, known tags only, anchors within bounds; and fills in
 * placeholders. A scalar that is one unquoted placeholder and nothing else gets its type from its value, as if that
 * stood there. Never throws for what the text says; everything wrong is in `problems`.
 */
export function readYaml(text: string, env: SecretEnv): YamlTree {
  const counter = new LineCounter();
  const problems: Problem[] = [];
  const notes: string[] = [];
  const lines = new Map<string, number>();
  const origins = new Map<string, Origin>();
  const broken = new Set<string>();
  let values = 0;
  let aliases = 0;
  let unfolded: number | undefined;

  const lineAt = (offset: number | undefined): number => Math.max(1, counter.linePos(offset ?? 0).line);
  const fail = (line: number, path: Path, reason: string): void => {
    problems.push({ line, path: fieldPath(path), reason });
  };

  const read = (name: string): { value: string | undefined } | { problem: string } => {
    try {
      return { value: env.read(name) };
    } catch (thrown) {
      if (thrown instanceof FleetError) return { problem: thrown.message };
      throw thrown;
    }
  };

  const scalar = (node: Scalar, path: Path, line: number): unknown => {
    const quoted = node.type !== undefined && node.type !== 'PLAIN';
    origins.set(key(path), quoted ? 'quoted' : 'plain');
    if (typeof node.value !== 'string' || !node.value.includes('${')) return node.value;
    const { text: result, names, sole, problems: wrong } = interpolate(node.value, read);
    for (const reason of wrong) fail(line, path, reason);
    if (wrong.length > 0) {
      broken.add(key(path));
      return undefined;
    }
    if (names.length > 0) {
      origins.set(key(path), 'environment');
      notes.push(`${line} ${fieldPath(path)}: from the environment (${names.join(', ')})`);
    }
    return sole && !quoted ? retype(result) : result;
  };

  const visit = (document: Document, node: unknown, path: Path, line: number): unknown => {
    values += 1;
    if (values > MAX_VALUES || path.length > MAX_DEPTH) {
      unfolded ??= line;
      return undefined;
    }
    if (isAlias(node)) {
      aliases += 1;
      if (aliases > MAX_ALIASES) {
        unfolded ??= line;
        return undefined;
      }
      const target = node.resolve(document);
      if (target !== undefined) return visit(document, target, path, line);
      broken.add(key(path));
      fail(line, path, `there is no anchor &${node.source} above this line`);
      return undefined;
    }
    if (isScalar(node)) return scalar(node, path, line);
    if (isSeq(node)) {
      return node.items.map((item, at) => {
        const below = [...path, at];
        const itemLine = lineAt(rangeStart(item));
        lines.set(key(below), itemLine);
        return visit(document, item, below, itemLine);
      });
    }
    if (isMap(node)) return mapping(document, node.items, path);
    return null;
  };

  const mapping = (document: Document, items: readonly Pair[], path: Path): Record<string, unknown> => {
    const entries = new Map<string, unknown>();
    for (const { key: keyNode, value } of items) {
      const name = isScalar(keyNode) ? String(keyNode.value) : '';
      const line = lineAt(rangeStart(keyNode));
      const below = [...path, name];
      if (entries.has(name)) {
        fail(line, below, `this key is already on line ${lines.get(key(below))}; keep one of the two`);
        continue;
      }
      lines.set(key(below), line);
      entries.set(name, visit(document, value, below, line));
    }
    return Object.fromEntries(entries);
  };

  const value = guard(() => {
    const documents = parseAllDocuments(text, {
      lineCounter: counter,
      prettyErrors: false,
      uniqueKeys: false,
      stringKeys: true,
      strict: true,
      logLevel: 'silent',
    });
    const [document, second] = Array.isArray(documents) ? documents : [];
    if (document === undefined) return null;
    if (second !== undefined) {
      fail(lineAt(second.range[0]), [], 'a second document starts here; a file holds one');
    }
    for (const error of [...document.errors, ...document.warnings])
      fail(lineAt(error.pos[0]), [], syntax(error));
    if (document.errors.length > 0) return undefined;
    const result = visit(document, document.contents, [], 1);
    if (unfolded === undefined) return result;
    fail(
      unfolded,
      [],
      `the file unfolds to more than ${MAX_VALUES} values, ${MAX_ALIASES} aliases or ${MAX_DEPTH} levels; make it smaller`,
    );
    return undefined;
  }, fail);

  return {
    value,
    problems,
    notes,
    lineOf: (path) => {
      for (let length = path.length; length > 0; length -= 1) {
        const line = lines.get(key(path.slice(0, length)));
        if (line !== undefined) return line;
      }
      return 1;
    },
    originOf: (path) => origins.get(key(path)) ?? 'plain',
    isBroken: (path) => broken.has(key(path)),
  };
}

const key = (path: Path): string => JSON.stringify(path);

const rangeStart = (node: unknown): number | undefined => (hasRange(node) ? node.range?.[0] : undefined);

function hasRange(node: unknown): node is Pick<Node, 'range'> {
  return typeof node === 'object' && node !== null && 'range' in node;
}

/** Nesting beyond the parser's stack is the text's fault, not the program's. */
function guard(work: () => unknown, fail: (line: number, path: Path, reason: string) => void): unknown {
  try {
    return work();
  } catch (thrown) {
    if (!(thrown instanceof RangeError)) throw thrown;
    fail(1, [], 'the file is nested too deeply');
    return undefined;
  }
}

function syntax(error: YAMLError): string {
  const [message = ''] = error.message.split('\n', 1);
  switch (error.code) {
    case 'TAB_AS_INDENT':
      return 'a tab indents this line; use spaces';
    case 'NON_STRING_KEY':
      return 'a key must be plain text';
    case 'TAG_RESOLVE_FAILED':
      return `${message.replace('Unresolved tag: ', 'unknown tag ').replace('tag:yaml.org,2002:', '!!')}; remove it`;
    default:
      return message.includes('call stack') ? 'the file is nested too deeply' : `not valid YAML: ${message}`;
  }
}

/** The value that this text would have as an unquoted scalar. */
function retype(text: string): unknown {
  const document = parseDocument(text, { prettyErrors: false, logLevel: 'silent' });
  const { contents } = document;
  const plain = document.errors.length === 0 && isScalar(contents) && contents.type === 'PLAIN';
  return plain && text !== '' && contents.source === text ? contents.value : text;
}
