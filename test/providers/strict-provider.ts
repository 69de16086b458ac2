import { isJsonObject, parseJson } from '@hermes-fleet/protocol';
import { z } from 'zod';
import type { Dialect } from './turns.ts';

/** The JSON text of an object, as the arguments of a call must be. */
const JsonObjectText = z
  .string()
  .refine((text) => isJsonObject(parseJson(text)), 'arguments are no JSON object');

/** The first thing in a request that a strict provider refuses; undefined if each of them takes it. */
export function refusalOf(dialect: Dialect, body: unknown): string | undefined {
  const parsed = BODIES[dialect].safeParse(body);
  if (!parsed.success) return z.prettifyError(parsed.error);
  const { tools = [], messages = [] } = parsed.data;
  for (const { name, schema } of tools) {
    const wrong = NAME.test(name) ? wrongSchema(schema) : 'its name';
    if (wrong !== undefined) return `tool ${name}: ${wrong}`;
  }
  // Reasoning that goes back may name the ids of its calls.
  const isFree = dialect !== 'chat' || /"reasoning_details":\[\{[^\]]*"id":"/.test(JSON.stringify(body));
  return wrongMessages(messages, isFree ? /^[\w-]{1,64}$/ : /^[A-Za-z0-9]{1,9}$/);
}

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

interface Message {
  readonly role: string;
  readonly calls: readonly { readonly id: string; readonly name: string }[];
  readonly results: readonly string[];
  readonly hasContent: boolean;
}

/** Each call has an id of its own in the whole conversation and one result, which follows it. */
function wrongMessages(messages: readonly Message[], id: RegExp): string | undefined {
  const known = new Set<string>();
  let open = new Set<string>();
  for (const [index, { role, calls, results, hasContent }] of messages.entries()) {
    const at = `message ${index} (${role})`;
    for (const result of results)
      if (!open.delete(result)) return `${at}: the result ${result} answers no call before it`;
    if (role !== 'tool' && results.length === 0 && open.size > 0)
      return `${at}: the calls ${[...open].join(', ')} have no result`;
    if (role === 'assistant' && !hasContent && calls.length === 0) return `${at}: it is empty`;
    for (const call of calls) {
      if (!id.test(call.id) || known.has(call.id))
        return `${at}: the id ${call.id} is odd, or is there twice`;
      if (!NAME.test(call.name)) return `${at}: the name ${call.name}`;
      known.add(call.id);
    }
    if (calls.length > 0) open = new Set(calls.map((call) => call.id));
  }
  return open.size > 0 ? `the calls ${[...open].join(', ')} have no result` : undefined;
}

/** Keywords that a grammar or a strict mode refuses. */
const REFUSED =
  /^(?:min|max|exclusiveM).*|^(?:\$.*|pattern|format|multipleOf|patternProperties|propertyNames|uniqueItems|not|if|then|else|definitions)$/;

function wrongSchema(schema: unknown, depth = 0): string | undefined {
  const { success, data } = Schema.safeParse(schema);
  if (!success) return 'a schema that is no object';
  if (
    depth === 0 &&
    (data.type !== 'object' || data.properties === undefined || data.anyOf || data.oneOf || data.allOf)
  )
    return 'its schema is no plain object';
  const refused = Object.keys(data).find((key) => REFUSED.test(key));
  if (refused !== undefined) return `its schema has ${refused}`;
  const { properties = {}, items, anyOf = [], oneOf = [], allOf = [] } = data;
  const inner = [
    ...Object.values(properties),
    ...(items === undefined ? [] : [items]),
    ...anyOf,
    ...oneOf,
    ...allOf,
  ];
  return inner.map((each) => wrongSchema(each, depth + 1)).find((wrong) => wrong !== undefined);
}

const Schema = z.looseObject({
  type: z.unknown().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  items: z.unknown().optional(),
  anyOf: z.array(z.unknown()).optional(),
  oneOf: z.array(z.unknown()).optional(),
  allOf: z.array(z.unknown()).optional(),
});

const isFilled = (content: unknown): boolean =>
  typeof content === 'string' || Array.isArray(content) ? content.length > 0 : false;

const Name = z.object({ name: z.string() });

/** A tool whose schema has this key. */
const toolWith = (key: string) =>
  z.looseObject({ name: z.string() }).transform((tool) => ({ name: tool.name, schema: tool[key] }));

const Chat = z.looseObject({
  stream: z.literal(true),
  messages: z.array(
    z
      .looseObject({
        role: z.string(),
        content: z.unknown(),
        tool_calls: z
          .array(z.object({ id: z.string(), function: Name.extend({ arguments: JsonObjectText }) }))
          .default([]),
        tool_call_id: z.string().optional(),
      })
      .transform(({ role, content, tool_calls: calls, tool_call_id: result }) => ({
        role,
        calls: calls.map((call) => ({ id: call.id, name: call.function.name })),
        results: result === undefined ? [] : [result],
        hasContent: isFilled(content),
      })),
  ),
  tools: z
    .array(z.object({ function: toolWith('parameters') }).transform(({ function: named }) => named))
    .optional(),
});

const Block = z.looseObject({
  type: z.string(),
  id: z.string().optional(),
  name: z.string().optional(),
  tool_use_id: z.string().optional(),
});

const Anthropic = z.looseObject({
  stream: z.literal(true),
  messages: z.array(
    z
      .looseObject({ role: z.string(), content: z.union([z.string(), z.array(Block)]) })
      .transform(({ role, content }) => {
        const blocks = typeof content === 'string' ? [] : content;
        return {
          role,
          calls: blocks.flatMap(({ type, id = '', name = '' }) =>
            type === 'tool_use' ? [{ id, name }] : [],
          ),
          results: blocks.flatMap(({ tool_use_id: id }) => (id === undefined ? [] : [id])),
          hasContent: isFilled(content),
        };
      }),
  ),
  tools: z.array(toolWith('input_schema')).optional(),
});

const Responses = z.looseObject({
  stream: z.literal(true),
  tools: z.array(toolWith('parameters')).optional(),
});

const Google = z.looseObject({
  tools: z
    .array(z.object({ functionDeclarations: z.array(toolWith('parametersJsonSchema')) }))
    .transform((tools) => tools.flatMap(({ functionDeclarations }) => functionDeclarations))
    .optional(),
});

interface Body {
  readonly tools?: readonly { readonly name: string; readonly schema: unknown }[] | undefined;
  readonly messages?: readonly Message[];
}

/** Only the tools of the last two are checked: their conversations have other ids, or none. */
const BODIES: Readonly<Record<Dialect, z.ZodType<Body>>> = {
  chat: Chat,
  anthropic: Anthropic,
  google: Google,
  responses: Responses,
};
