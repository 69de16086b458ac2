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
import { interpolate, type Kept } from './interpolate.ts';
import type { Problem } from './problems.ts';
import type { SecretEnv } from './secret-env.ts';
import { parseYaml } from './yaml-document.ts';

export type Path = readonly PropertyKey[];

/** The origin of a scalar's value: plain text, quoted text, or the environment. */
export type Origin = 'plain' | 'quoted' | 'environment';

/** The values of a YAML file with their origins. */
export type YamlTree = ReturnType<typeof readYaml>;

const MAX_VALUES = 20_000;
const MAX_DEPTH = 64;
const MAX_ALIASES = 100;
const TOO_LARGE = `the file unfolds to more than ${MAX_VALUES} values, ${MAX_ALIASES} aliases or ${MAX_DEPTH} levels; make it smaller`;

/**
 * Reads YAML into values: checks that keys are unique, bounds the expansion of anchors, and replaces placeholders. An
 * unquoted scalar that is exactly one placeholder gets the type of its value. `isKept` placeholders stay. Never throws for the text's content;
 * every problem is in `problems`.
 */
export function readYaml(
  text: string,
  env: SecretEnv,
  isKept: (path: Path, name: string) => Kept = () => false,
) {
  const { document, problems: syntax, lineAt } = parseYaml(text);
  const problems: Problem[] = [...syntax];
  const fromEnvironment: string[] = [];
  const lines = new Map<string, number>();
  const origins = new Map<string, Origin>();
  const broken = new Set<string>();
  let values = 0;
  let aliases = 0;
  let tooLargeAt: number | undefined;

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
    const {
      text: result,
      names,
      sole,
      problems: reasons,
    } = interpolate(node.value, (variable) => {
      const kept = isKept(path, variable);
      return kept ? { kept } : read(variable);
    });
    if (reasons.length > 0) {
      for (const reason of reasons) fail(line, path, reason);
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
      tooLargeAt ??= line;
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
  if (tooLargeAt !== undefined) {
    fail(tooLargeAt, [], TOO_LARGE);
    value = undefined;
  }
  return {
    /** Undefined for an unreadable text; null for an empty one. */
    value,
    problems,
    /** The paths of the values from the environment, with the names of their variables. */
    fromEnvironment,
    /** The line of the key or item at this path, or of its nearest ancestor. */
    lineOf: (path: Path): number => {
      const lengths = Array.from(path, (_, at) => path.length - at);
      const known = lengths.map((length) => lines.get(key(path.slice(0, length))));
      return known.find((line) => line !== undefined) ?? 1;
    },
    originOf: (path: Path): Origin => origins.get(key(path)) ?? 'plain',
    /** True if the value at this path is missing because of a reported problem. */
    isBroken: (path: Path): boolean => broken.has(key(path)),
  };
}

const key = (path: Path): string => JSON.stringify(path);

const startOf = (node: unknown): number | undefined => (hasRange(node) ? node.range?.[0] : undefined);

function hasRange(node: unknown): node is Pick<Node, 'range'> {
  return typeof node === 'object' && node !== null && 'range' in node;
}

/** The value of this text as an unquoted scalar. */
function retype(text: string): unknown {
  const { contents, errors } = parseDocument(text, { prettyErrors: false, logLevel: 'silent' });
  const isPlain = errors.length === 0 && isScalar(contents) && contents.type === 'PLAIN';
  return isPlain && text !== '' && contents.source === text ? contents.value : text;
}
