import { FleetConfigSchema } from '@hermes-fleet/fleet-config';
import { AgentConfigSchema } from '@hermes-fleet/loop';
import { z } from 'zod';
import { STRATEGY_KINDS } from '../../libs/trader/market/src/strategies/index.ts';
import { ConsoleConfigSchema } from '../../services/console/src/config/schema.ts';
import { TraderConfigSchema } from '../../services/trader/src/config/schema.ts';
import { tableOf } from './docs.ts';

/** A key of a configuration file, as its row in docs/configuration.md. */
export interface Key {
  readonly path: string;
  readonly type: string;
  /** `required`, a value, or nothing. */
  readonly fallback: string;
  /** Undefined where the schema lacks it. */
  readonly meaning: string | undefined;
}

type Node = z.core.JSONSchema.BaseSchema;

const asNode = (node: z.core.JSONSchema._JSONSchema | undefined): Node =>
  typeof node === 'object' ? node : {};

/** The keys of a schema in its order: mappings that have a description of their own, and all that is not a mapping. */
export function keysOf(schema: z.ZodType): Key[] {
  const json = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    // zod leaves out the default of a value that is transformed.
    override: ({
      zodSchema: {
        _zod: { def },
      },
      jsonSchema,
    }) => {
      if (def.type === 'default') jsonSchema.default ??= def.defaultValue as typeof jsonSchema.default;
    },
  });
  return walk(json, { path: '', required: false });
}

interface At {
  readonly path: string;
  readonly required: boolean;
  /** The description of the mapping or list that holds this value under names of one's choice. */
  readonly above?: string | undefined;
}

function walk(node: Node, { path, required, above }: At): Key[] {
  const only = node.anyOf?.map(asNode).filter(({ type }) => type !== 'null') ?? [];
  if (only.length === 1) return walk({ ...only[0], ...node, anyOf: undefined }, { path, required, above });
  const description = node.description ?? above;
  const own = row(node, { path, required, above: description });
  const { additionalProperties: values, items } = node;
  if (node.oneOf) return [own, ...walk(merged(node.oneOf.map(asNode)), { path, required })];
  if (node.properties)
    return [
      ...(path === '' || description === undefined ? [] : [own]),
      ...Object.entries(node.properties).flatMap(([key, child]) =>
        walk(asNode(child), {
          path: path === '' ? key : `${path}.${key}`,
          required: node.required?.includes(key) ?? false,
        }),
      ),
    ];
  if (typeof values === 'object')
    return walk(values, { path: `${path}.<name>`, required: false, above: description });
  if (items && !Array.isArray(items) && asNode(items).properties)
    return walk(asNode(items), { path: `${path}[]`, required: false, above: description });
  return [own];
}

/** The kinds of a mapping as one, whose keys say which kind has them. */
function merged(kinds: readonly Node[]): Node {
  const properties: Record<string, Node> = {};
  for (const kind of kinds)
    for (const [key, child] of Object.entries(kind.properties ?? {})) {
      const [known, each] = [properties[key], asNode(child)];
      const isShared = kinds.every((other) => other.properties?.[key]);
      const of = isShared ? '' : `(${asNode(kind.properties?.kind).const}) `;
      if (known?.const === undefined)
        properties[key] = { ...each, description: each.description && of + each.description };
      else known.enum = [...(known.enum ?? [known.const]), each.const ?? null];
    }
  return { type: 'object', properties, required: kinds.flatMap(({ required }) => required ?? []) };
}

function row(node: Node, { path, required, above }: At): Key {
  const name = path.split('.').at(-1) ?? '';
  const fallback = required ? 'required' : node.properties ? '' : shown(node.default);
  return { path, type: typeOf(node, name), fallback, meaning: above };
}

function shown(value: unknown): string {
  if (value === undefined) return '';
  const isList = Array.isArray(value) && value.length > 0;
  return `\`${isList ? value.join(', ') : typeof value === 'string' ? value : JSON.stringify(value)}\``;
}

/** What the end of a name says about its value. */
const UNITS: readonly (readonly [RegExp, string])[] = [
  [/_s$/, 'seconds'],
  [/_mb$/, 'MiB'],
  [/_bytes$/, 'bytes'],
  [/days$/, 'days'],
  [/_bps$/, 'basis points'],
  [/tokens/, 'tokens'],
  [/_env$/, 'variable'],
  [/_file$/, 'path'],
];

function typeOf(node: Node, name: string): string {
  const options = node.enum ?? (node.const === undefined ? undefined : [node.const]);
  if (options) return options.map((option) => `\`${option}\``).join(', ');
  if (node.not) return 'refused';
  if (node.oneOf) return 'mapping';
  if (node.anyOf) return node.anyOf.map((option) => typeOf(asNode(option), name)).join(' or ');
  const unit = UNITS.find(([end]) => end.test(name))?.[1];
  switch (node.type) {
    case 'array':
      return `list of ${typeOf(asNode(node.items as Node), '')}`;
    case 'object':
      return 'mapping';
    case 'string':
      return node.title ?? unit ?? (node.format === 'uri' ? 'URL' : 'text');
    case 'number':
    case 'integer':
      return [unit ?? (node.type === 'integer' ? 'whole number' : 'number'), ...range(node)].join(', ');
    default:
      return node.type === 'boolean' ? 'boolean' : 'any';
  }
}

function range({ type, minimum, maximum, exclusiveMinimum }: Node): string[] {
  const least = type === 'integer' && typeof exclusiveMinimum === 'number' ? exclusiveMinimum + 1 : minimum;
  const most = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  if (least !== undefined && most !== undefined) return [`${least} to ${most}`];
  return [
    ...(least === undefined ? [] : [`from ${least}`]),
    ...(type === 'number' && exclusiveMinimum !== undefined ? [`above ${exclusiveMinimum}`] : []),
    ...(most === undefined ? [] : [`at most ${most}`]),
  ];
}

/** All keys, by the part of the document that has them. */
export const KEYS: Readonly<Record<string, readonly Key[]>> = {
  'fleet.yaml': keysOf(FleetConfigSchema),
  'config.yaml': keysOf(AgentConfigSchema),
  'trader.yaml': keysOf(TraderConfigSchema),
  'parameters of strategies': Object.entries(STRATEGY_KINDS).flatMap(([kind, { params }]) =>
    keysOf(params).map((key) => ({ ...key, path: `${kind}.${key.path}` })),
  ),
  'console.yaml': keysOf(ConsoleConfigSchema),
};

/**
 * The tables of docs/configuration.md. A row links to the notes on its file where they have an item for its key. Throws for a
 * note on what is no key.
 */
export function configParts(text: string): Readonly<Record<string, string>> {
  const noted = new Set([...text.matchAll(/^- `([^`]+)`: /gm)].map(([, key = '']) => key));
  const known = new Set(Object.values(KEYS).flatMap((keys) => keys.map(({ path }) => path)));
  for (const key of noted)
    if (!known.has(key)) throw new Error(`the notes of docs/configuration.md name ${key}, which is no key`);
  return Object.fromEntries(
    Object.entries(KEYS).map(([part, keys]) => {
      const more = ` ([more](#notes-on-${part.replace('.', '')}))`;
      const rows = keys.map(({ path, type, fallback, meaning = '' }) => [
        `\`${path}\``,
        type,
        fallback,
        `${meaning}${noted.has(path) ? more : ''}`,
      ]);
      return [part, tableOf(['key', 'type', 'default', 'meaning'], rows)];
    }),
  );
}
