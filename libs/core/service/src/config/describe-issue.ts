import { isJsonObject } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { redact } from '../redact.ts';
import { didYouMean } from './did-you-mean.ts';
import type { Path, YamlTree } from './yaml-tree.ts';

type Issue = z.core.$ZodIssue;

/** Marks an issue for which the schema has no message. */
export const NO_MESSAGE = ' no message';

export interface DescribedIssue {
  readonly path: Path;
  /** The problem and its fix. */
  readonly reason: string;
}

/** Describes an issue of a failed parse. A union is reduced to the option that fits best. */
export function describeIssue(
  issue: Issue,
  context: { readonly schema: z.core.$ZodType; readonly tree: YamlTree; readonly above?: Path },
): DescribedIssue[] {
  const path = [...(context.above ?? []), ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(context.schema, path);
    return issue.keys.map((name) => ({ path: [...path, name], reason: unknownKey(name, known) }));
  }
  if (issue.message !== NO_MESSAGE) return [{ path, reason: issue.message }];
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    return closest(issue.errors).flatMap((inner) => describeIssue(inner, { ...context, above: path }));
  }
  if (issue.code === 'invalid_key' || issue.code === 'invalid_element') {
    const reasons = issue.issues.map((inner) =>
      inner.message === NO_MESSAGE ? describe(inner, 'it', 'plain') : inner.message,
    );
    return [{ path, reason: `this name is not allowed here: ${reasons.join(', ')}` }];
  }
  const value = printable(inputOf(issue), path, context.tree);
  return [{ path, reason: describe(issue, value, context.tree.originOf(path)) }];
}

/** The invalid value; for a discriminated union, the discriminator. */
function inputOf(issue: Issue): unknown {
  const name = 'discriminator' in issue ? issue.discriminator : undefined;
  return name !== undefined && isJsonObject(issue.input) ? issue.input[name] : issue.input;
}

function unknownKey(name: string, known: readonly string[]): string {
  if (known.includes(name)) return 'this key does not go together with the others here; remove it or them';
  const guess = didYouMean(name, known);
  if (guess !== undefined) return `unknown key; did you mean "${guess}"?`;
  if (known.length === 0) return 'unknown key; remove it';
  const list = known.slice(0, 20).join(', ');
  return `unknown key; remove it, or use one of ${list}${known.length > 20 ? ', …' : ''}`;
}

/** The issues of the union's option that fits best: the one with the fewest issues, deep ones counting less. */
function closest(options: readonly (readonly Issue[])[]): readonly Issue[] {
  const cost = (issues: readonly Issue[]): number =>
    issues.reduce((sum, issue) => {
      if (issue.code === 'unrecognized_keys') return sum + issue.keys.length;
      return sum + (issue.path.length === 0 ? 3 : 1);
    }, 0);
  return [...options].sort((a, b) => cost(a) - cost(b))[0] ?? [];
}

const KINDS: Readonly<Record<string, string>> = {
  boolean: 'true or false',
  number: 'a number',
  int: 'a whole number',
  string: 'text',
  array: 'a list',
  object: 'a mapping of keys to values',
  record: 'a mapping of keys to values',
};

const SECRET_NAME = /token|secret|password|key|authorization|cookie|credential/i;
/** Mappings whose values may be secrets regardless of their names: an MCP server's environment and headers. */
const SECRET_MAPS: ReadonlySet<PropertyKey> = new Set(['env', 'headers']);

/** A value for a message: shortened, and never a possible secret. */
function printable(value: unknown, path: Path, tree: YamlTree): string {
  const name = String(path.findLast((part) => typeof part === 'string') ?? '');
  const isSecret = SECRET_NAME.test(name) && !/_env$/i.test(name);
  if (isSecret || path.some((part) => SECRET_MAPS.has(part))) return 'its value';
  if (tree.originOf(path) === 'environment') return 'its value (from the environment)';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'a mapping';
  const text = redact(typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? 'nothing'));
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function describe(issue: Issue, value: string, origin: string): string {
  switch (issue.code) {
    case 'invalid_type':
      return wrongType(issue, value, origin);
    case 'invalid_value':
      return oneOf(issue.values, issue.input, value);
    case 'too_small':
      return `${value} ${bound(issue.origin, issue.minimum, issue.inclusive ? 'at least' : 'more than')}`;
    case 'too_big':
      return `${value} ${bound(issue.origin, issue.maximum, issue.inclusive ? 'at most' : 'less than')}`;
    case 'not_multiple_of':
      return `${value} must be a multiple of ${issue.divisor}`;
    case 'invalid_format':
      return `${value} is not ${format(issue)}`;
    case 'invalid_union':
      return oneOf('options' in issue ? (issue.options ?? []) : [], inputOf(issue), value);
    default:
      return `${value} is not allowed here`;
  }
}

function wrongType(issue: z.core.$ZodIssueInvalidType, value: string, origin: string): string {
  const { input, expected } = issue;
  const kind = KINDS[expected] ?? `of type ${expected}`;
  if (input === undefined) return `is missing; it must be ${kind}`;
  if (input === null) return `is empty; it must be ${kind}`;
  if (typeof input === 'string') {
    if (expected === 'boolean') return `${value} is text, not a boolean; write true or false`;
    const numeric =
      (expected === 'number' || expected === 'int') && input !== '' && Number.isFinite(Number(input));
    if (numeric && origin === 'quoted') return `${value} is text because it is quoted; remove the quotes`;
  }
  if (expected === 'string' && typeof input !== 'object') {
    return `${value} is a ${typeof input}, not text; put it in quotes`;
  }
  return `must be ${kind}, not ${value}`;
}

function oneOf(values: readonly unknown[], input: unknown, value: string): string {
  const list = values.map(String);
  if (input === undefined) return `is missing; it must be ${list.join(' or ')}`;
  const guess = typeof input === 'string' ? didYouMean(input, list) : undefined;
  const hint = guess === undefined ? '' : `; did you mean "${guess}"?`;
  return list.length === 1
    ? `${value} must be ${list[0]}`
    : `${value} is not one of ${list.join(', ')}${hint}`;
}

function bound(origin: string, limit: number | bigint, relation: string): string {
  if (origin === 'string') return `must have ${relation} ${limit} characters`;
  if (origin === 'array' || origin === 'set') return `must have ${relation} ${limit} items`;
  return `must be ${relation} ${limit}`;
}

function format(issue: z.core.$ZodIssueInvalidStringFormat): string {
  if (issue.format === 'regex') return `of the form ${issue.pattern ?? 'that is required here'}`;
  const article = /^(url|email|ipv|iso)/.test(issue.format) ? 'a valid' : 'valid as';
  return `${article} ${issue.format}`;
}

/** The keys that a schema allows at a path: candidates for a misspelled key. */
function keysAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  const whole = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const nodes = path.reduce<Node[]>(
    (all, part) =>
      all.flatMap(({ properties = {}, additionalProperties, items }) =>
        options(properties[String(part)] ?? additionalProperties ?? items),
      ),
    options(whole),
  );
  return [...new Set(nodes.flatMap(({ properties = {} }) => Object.keys(properties)))];
}

type Node = z.core.JSONSchema.BaseSchema;

/** What a value may be: a node, or each part of a union. */
function options(node: unknown): Node[] {
  if (!isNode(node)) return [];
  const parts = [...(node.anyOf ?? []), ...(node.oneOf ?? []), ...(node.allOf ?? [])];
  return parts.length === 0 ? [node] : parts.flatMap(options);
}

const isNode = (node: unknown): node is Node => typeof node === 'object' && node !== null;
