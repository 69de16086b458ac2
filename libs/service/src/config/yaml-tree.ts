import { FleetError, fieldPath } from '@hermes-fleet/protocol';
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
  type Scalar,
} from 'yaml';
import { interpolate } from './interpolate.ts';
import type { Problem } from './problems.ts';
import type { SecretEnv } from './secret-env.ts';
import { parseYaml } from './yaml-document.ts';

export type Path = readonly PropertyKey[];

/** How a scalar got its value: as written, in quotes, or from the environment. */
export type Origin = 'plain' | 'quoted' | 'environment';

/** A YAML file as plain values that still know where they came from. */
export interface YamlTree {
  /** Undefined when the text can't be read at all; null when it is empty. */
  readonly value: unknown;
  readonly problems: readonly Problem[];
  /** Paths of the values that came from the environment, with the names of their variables. */
  readonly fromEnvironment: readonly string[];
  /** The line of the key or item at this path, or of the nearest one above it. */
  lineOf(path: Path): number;
  originOf(path: Path): Origin;
  /** Whether there is no value at this path because of a problem that is told already. */
  isBroken(path: Path): boolean;
}

const MAX_VALUES = 20_000;
const MAX_DEPTH = 64;
const MAX_ALIASES = 100;
const UNFOLDED = `the file unfolds to more than ${MAX_VALUES} values, ${MAX_ALIASES} aliases or ${MAX_DEPTH} levels; make it smaller`;

/**
 * Reads YAML into values: keys are unique, anchors stay within bounds, and placeholders are filled in. A scalar that is
 * one unquoted placeholder and nothing else gets its type from its value, as if that stood there. Never throws for what
 * the text says; everything wrong is in `problems`.
 */
export function readYaml(text: string, env: SecretEnv): YamlTree {
  const { document, problems: syntax, lineAt } = parseYaml(text);
  const problems: Problem[] = [...syntax];
  const fromEnvironment: string[] = [];
  const lines = new Map<string, number>();
  const origins = new Map<string, Origin>();
  const broken = new Set<string>();
  let values = 0;
  let aliases = 0;
  let unfoldedAt: number | undefined;

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
    const quoted = node.type !== 'PLAIN';
    origins.set(key(path), quoted ? 'quoted' : 'plain');
    if (typeof node.value !== 'string' || !node.value.includes('${')) return node.value;
    const { text: result, names, sole, problems: wrong } = interpolate(node.value, read);
    if (wrong.length > 0) {
      for (const reason of wrong) fail(line, path, reason);
      broken.add(key(path));
      return undefined;
    }
    if (names.length > 0) {
      origins.set(key(path), 'environment');
      fromEnvironment.push(`${fieldPath(path)} (${names.join(', ')})`);
    }
    return sole && !quoted ? retype(result) : result;
  };

  const mapping = (within: Document, items: readonly Pair[], path: Path): Record<string, unknown> => {
    const entries = new Map<string, unknown>();
    for (const { key: keyNode, value } of items) {
      const name = isScalar(keyNode) ? String(keyNode.value) : '';
      const line = lineAt(startOf(keyNode));
      const below = [...path, name];
      if (entries.has(name)) {
        fail(line, below, `this key is already on line ${lines.get(key(below))}; keep one of the two`);
        continue;
      }
      lines.set(key(below), line);
      entries.set(name, visit(within, value, below, line));
    }
    return Object.fromEntries(entries);
  };

  const visit = (within: Document, node: unknown, path: Path, line: number): unknown => {
    values += 1;
    if (isAlias(node)) aliases += 1;
    if (values > MAX_VALUES || aliases > MAX_ALIASES || path.length > MAX_DEPTH) {
      unfoldedAt ??= line;
      return undefined;
    }
    if (isAlias(node)) {
      const target = node.resolve(within);
      if (target !== undefined) return visit(within, target, path, line);
      fail(line, path, `there is no anchor &${node.source} above this line`);
      broken.add(key(path));
      return undefined;
    }
    if (isScalar(node)) return scalar(node, path, line);
    if (isMap(node)) return mapping(within, node.items, path);
    if (!isSeq(node)) return null;
    return node.items.map((item, at) => {
      const below = [...path, at];
      const itemLine = lineAt(startOf(item));
      lines.set(key(below), itemLine);
      return visit(within, item, below, itemLine);
    });
  };

  let value: unknown = syntax.length > 0 ? undefined : null;
  if (document !== undefined) value = visit(document, document.contents, [], 1);
  if (unfoldedAt !== undefined) {
    fail(unfoldedAt, [], UNFOLDED);
    value = undefined;
  }
  return {
    value,
    problems,
    fromEnvironment,
    lineOf: (path) => {
      const lengths = Array.from(path, (_, at) => path.length - at);
      const known = lengths.map((length) => lines.get(key(path.slice(0, length))));
      return known.find((line) => line !== undefined) ?? 1;
    },
    originOf: (path) => origins.get(key(path)) ?? 'plain',
    isBroken: (path) => broken.has(key(path)),
  };
}

const key = (path: Path): string => JSON.stringify(path);

const startOf = (node: unknown): number | undefined => (hasRange(node) ? node.range?.[0] : undefined);

function hasRange(node: unknown): node is Pick<Node, 'range'> {
  return typeof node === 'object' && node !== null && 'range' in node;
}

/** The value that this text would have as an unquoted scalar. */
function retype(text: string): unknown {
  const { contents, errors } = parseDocument(text, { prettyErrors: false, logLevel: 'silent' });
  const plain = errors.length === 0 && isScalar(contents) && contents.type === 'PLAIN';
  return plain && text !== '' && contents.source === text ? contents.value : text;
}
