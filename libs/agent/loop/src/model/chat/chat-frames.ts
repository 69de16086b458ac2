import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '@hermes-fleet/protocol';
import { usageIn } from './chat-usage.ts';

/** A call of a tool, while its parts arrive. */
interface BegunCall {
  readonly index: number;
  /** The provider's index. */
  readonly at: JsonValue | undefined;
  /** As the provider wrote it, or ''. */
  readonly id: string;
  name: string;
  args: string;
  readonly rest: JsonObject;
  /** Its name is not known, or may still be in pieces. */
  isHeld: boolean;
}

/** A part of a call, as it came. */
interface Part extends Pick<BegunCall, 'at' | 'id' | 'name' | 'args' | 'rest'> {}

/**
 * Repairs the frames of one answer of the chat completions API, so that they are as its documents say
 * (https://platform.openai.com/docs/api-reference/chat-streaming).
 */
export function createFrames() {
  const calls: BegunCall[] = [];
  let hasDeltas = false;
  let isFinished = false;
  /** Some give a reason with every piece: one beside a piece is no end yet. */
  let isOver = false;
  let isMetered = false;

  /** The call that a part continues; undefined where it begins one. */
  function callOf({ at, id, name, args }: Part): BegunCall | undefined {
    const same = (call: BegunCall): boolean => call.id === id && id !== '';
    const found =
      calls.findLast((call) => same(call) && call.at === at) ??
      calls.findLast(same) ??
      calls.findLast((call) => call.at === at && at !== undefined) ??
      (id === '' && at === undefined ? calls.at(-1) : undefined);
    if (found === undefined || name === '') return found;
    const isOther =
      (at === undefined && id === '' && found.name !== '' && found.name !== name) ||
      (at !== undefined && found.at !== undefined && found.at !== at) ||
      (id !== '' && found.id !== '' && found.id !== id && found.name !== name) ||
      (/^\s*(?:[[{]|$)/.test(args) && isWhole(found));
    return isOther ? undefined : found;
  }

  /** True for a call that is sent once more, whole or with its name alone. */
  const isRepeated = ({ id, name, args }: Part): boolean =>
    id !== '' &&
    calls.some(
      (call) => call.id === id && call.name === name && isWhole(call) && ['', '{}', call.args].includes(args),
    );

  /** Takes the part of a call. Returns what can be passed on: a call is held until its name is known. */
  function callParts(value: JsonValue): JsonObject[] {
    const part = isJsonObject(value) ? partOf(value) : undefined;
    if (part === undefined || isRepeated(part)) return [];
    const { name, args } = part;
    const known = callOf(part);
    if (known === undefined && name === '' && args === '') return [];
    const ended = known === undefined ? heldParts() : [];
    const call = known ?? { ...part, index: calls.length, name: '', args: '', isHeld: true };
    if (known === undefined) calls.push(call);
    // A name comes in pieces, again, or as far as it is known.
    if (call.isHeld) call.name = name.startsWith(call.name) ? name : call.name + name;
    // Some send all arguments once more at their end.
    if (args === call.args && isWhole(call)) return ended;
    call.args += args;
    if (args === '' || call.name === '') return ended;
    return [
      ...ended,
      ...(call.isHeld ? begun(call) : [{ index: call.index, function: { arguments: args } }]),
    ];
  }

  function begun(call: BegunCall): JsonObject[] {
    call.isHeld = false;
    const { rest, index, id, name, args } = call;
    const isOwn = id !== '' && calls.find((other) => other.id === id) === call;
    const parts = { index, type: 'function', function: { name: name || 'unnamed', arguments: '' } };
    const start = { ...rest, ...parts, ...(isOwn && { id }) };
    return args === '' ? [start] : [start, { index, function: { arguments: args } }];
  }

  const heldParts = (): JsonObject[] => calls.filter(({ isHeld }) => isHeld).flatMap(begun);

  function deltaOf(
    { delta, message, text: plain }: JsonObject,
    others: JsonValue[],
    isLast: boolean,
  ): JsonObject {
    const [own = {}, whole = {}] = [delta, message].map((each) => (isJsonObject(each) ? each : {}));
    hasDeltas ||= says(own);
    // Some repeat the whole answer at its end.
    const raw = hasDeltas ? own : { content: typeof plain === 'string' ? plain : null, ...own, ...whole };
    const { role: _, content, tool_calls: tools, function_call: old, ...rest } = raw;
    for (const key of ['reasoning_content', 'reasoning']) if (typeof rest[key] !== 'string') delete rest[key];
    const named = isJsonObject(old) ? [{ index: 0, function: old }] : [];
    const begunParts = [...[tools ?? []].flat(), ...named, ...others].flatMap(callParts);
    const parts = [...begunParts, ...(isLast ? heldParts() : [])];
    return {
      ...rest,
      ...(isAbsent(content) ? {} : { content: contentOf(content) }),
      ...(parts.length > 0 && { tool_calls: parts }),
    };
  }

  /** The frame with this choice. Some proxies put text and calls into choices of their own: `others` are calls of such. */
  function repairedChoice(frame: JsonObject, choice: JsonObject, others: JsonValue[]): JsonObject {
    const said = text(choice.finish_reason);
    const reason = REASONS.find(([pattern]) => pattern.test(said))?.[1] ?? (said || null);
    const delta = deltaOf(choice, others, reason !== null);
    isFinished ||= reason !== null;
    const isPiece = [choice.delta, choice.message].some((each) => isJsonObject(each) && says(each));
    isOver = (isOver || reason !== null) && !isPiece;
    return { ...frame, choices: [{ index: 0, delta, finish_reason: reason }] };
  }

  return {
    /** True once a reason for the end has come by itself, or usage after it. */
    isOver: (): boolean => isOver,
    /** True once usage has come by itself, as it does after all else. */
    isMetered: (): boolean => isMetered,
    /** The frame as it should be, once for each part of its choice; none for one without a choice, usage or error. */
    repaired(frame: JsonObject): JsonObject[] {
      const metered = usageIn(frame);
      const { id, created, model, choices, error, usage, ...rest } = frame;
      const head = { ...(isAbsent(id) ? {} : { id: text(id) }), ...(typeof model === 'string' && { model }) };
      // In place of the usage, whose fields the packages read more strictly.
      const base = { ...rest, ...head, ...(metered !== undefined && { metered }) };
      const all = [choices ?? []].flat().filter(isJsonObject);
      isMetered ||= all.length === 0 && metered !== undefined && hasDeltas;
      isOver ||= isFinished && isMetered;
      if (all.length === 0)
        return metered !== undefined || Array.isArray(choices) ? [{ ...base, choices: [] }] : [];
      const parts = all.filter(({ index }) => index === all[0]?.index);
      const others = all.filter((choice) => !parts.includes(choice));
      const calls = others.flatMap(({ delta, message }) => callsIn(delta ?? message));
      return parts.map((choice, at) => repairedChoice(base, choice, at === 0 ? calls : []));
    },
    /** The frame that the end of a whole answer lacks, if any. */
    closing(): JsonObject | undefined {
      if (isFinished) return undefined;
      const delta = { tool_calls: heldParts() };
      const reason = calls.length > 0 ? 'tool_calls' : 'stop';
      return { choices: [{ index: 0, delta, finish_reason: reason }] };
    },
  };
}

/** Reasons in the words of some providers; others stay as they are. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^(?:tool|function)[-_]?(?:calls?|use|code)$/i, 'tool_calls'],
  [/^(?:max_?(?:output_?)?(?:tokens|length)|length_limit|model_length)$/i, 'length'],
  [/^(?:sensitive|safety)$/i, 'content_filter'],
];

function partOf({ index: at, id, type: _, function: inner, ...rest }: JsonObject): Part {
  const { name, arguments: args } = isJsonObject(inner) ? inner : rest;
  const said = typeof args === 'string' ? args : isAbsent(args) ? '' : JSON.stringify(args);
  // PHP writes an empty object so.
  return { at: at ?? undefined, id: text(id), name: text(name), args: said === '[]' ? '{}' : said, rest };
}

const callsIn = (delta: JsonValue | undefined): JsonValue[] =>
  isJsonObject(delta) ? [delta.tool_calls ?? []].flat() : [];

const isWhole = ({ args }: BegunCall): boolean =>
  args.trimEnd().endsWith('}') && parseJson(args) !== undefined;

/** True for a delta with a part of the answer. */
const says = ({ role: _, ...delta }: JsonObject): boolean =>
  Object.values(delta).some((value) => [value ?? ''].flat().some((each) => each !== ''));

const isAbsent = (value: JsonValue | undefined): value is null | undefined =>
  value === null || value === undefined;

/** A text or a number as text; '' for anything else. */
const text = (value: JsonValue | undefined): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';

/** Parts of a content stay as they are; a lone part becomes a list. */
function contentOf(content: JsonValue): JsonValue {
  if (Array.isArray(content))
    return content.map((part) => (isJsonObject(part) ? part : { type: 'text', text: text(part) }));
  return isJsonObject(content) ? [content] : text(content);
}
