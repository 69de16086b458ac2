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

/**
 * Repairs the frames of one answer of the chat completions API, so that they are as its documents say
 * (https://platform.openai.com/docs/api-reference/chat-streaming). Frames that say nothing are left out.
 */
export function createFrames() {
  const calls: BegunCall[] = [];
  let hasDeltas = false;
  let isFinished = false;

  /** The call that a part belongs to: by its id, its index, or as the last one. */
  function callOf(at: JsonValue | undefined, id: string, name: string): BegunCall | undefined {
    const found =
      calls.findLast((call) => call.id === id && call.at === at && id !== '') ??
      calls.findLast((call) => call.id === id && id !== '') ??
      calls.findLast((call) => call.at === at && at !== undefined) ??
      (id === '' && at === undefined ? calls.at(-1) : undefined);
    if (found === undefined || name === '') return found;
    if (id === '' && at === undefined && found.name !== '') return undefined;
    // A part with a name begins another call where the last one is whole, or where it says so.
    const isOtherId = found.id !== '' && id !== '' && found.id !== id && name !== found.name;
    const isOther = isOtherId || (found.at !== at && found.at !== undefined && at !== undefined);
    return isOther || parseJson(found.args) !== undefined ? undefined : found;
  }

  /** Takes the part of a call. Returns what can be passed on: a call is held until its name is known. */
  function callParts(part: JsonValue): JsonObject[] {
    if (!isJsonObject(part)) return [];
    const { index: at, id: rawId, type: _, function: inner, ...rest } = part;
    const { name: rawName, arguments: rawArgs } = isJsonObject(inner) ? inner : part;
    const id = text(rawId);
    const name = text(rawName);
    const said = typeof rawArgs === 'string' ? rawArgs : isAbsent(rawArgs) ? '' : JSON.stringify(rawArgs);
    // PHP writes an empty object so.
    const args = said === '[]' ? '{}' : said;
    const known = callOf(at ?? undefined, id, name);
    if (known === undefined && name === '' && args === '') return [];
    const ended = known === undefined ? heldParts() : [];
    const call = known ?? {
      index: calls.length,
      at: at ?? undefined,
      id,
      name: '',
      args: '',
      rest,
      isHeld: true,
    };
    if (known === undefined) calls.push(call);
    if (call.isHeld && name !== call.name) call.name += name;
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

  function deltaOf(choice: JsonObject, isLast: boolean): JsonObject {
    const { delta, message, text: plain } = choice;
    // Some repeat the whole answer at its end.
    hasDeltas ||= isJsonObject(delta);
    const raw =
      [delta, hasDeltas ? undefined : message].find(isJsonObject) ??
      (typeof plain === 'string' ? { content: plain } : {});
    const { role: _, content, tool_calls: tools, function_call: old, ...rest } = raw;
    const reasoning = ['reasoning_content', 'reasoning'].filter((key) => typeof rest[key] === 'object');
    for (const key of reasoning) delete rest[key];
    const named = [old].filter(isJsonObject).map((call) => ({ index: 0, function: call }));
    const begunParts = [...[tools ?? []].flat(), ...named].flatMap(callParts);
    const parts = [...begunParts, ...(isLast ? heldParts() : [])];
    return {
      ...rest,
      ...(isAbsent(content) ? {} : { content: contentOf(content) }),
      ...(parts.length > 0 && { tool_calls: parts }),
    };
  }

  return {
    /** The frame as it should be; undefined for one without a choice, usage or error. */
    repaired(frame: JsonObject): JsonObject | undefined {
      const metered = usageIn(frame);
      const { id, created, model, choices, error, usage, ...rest } = frame;
      const choice = (Array.isArray(choices) ? choices : [choices ?? null])[0];
      if (!isJsonObject(choice) && metered === undefined)
        return Array.isArray(choices) ? { choices: [] } : undefined;
      const head = { ...(isAbsent(id) ? {} : { id: text(id) }), ...(typeof model === 'string' && { model }) };
      // In place of the usage, whose fields the packages read more strictly.
      const base = { ...rest, ...head, ...(metered !== undefined && { metered }) };
      if (!isJsonObject(choice)) return { ...base, choices: [] };
      const said = text(choice.finish_reason);
      const reason = REASONS[said] ?? (said || null);
      const delta = deltaOf(choice, reason !== null);
      isFinished ||= reason !== null;
      return { ...base, choices: [{ index: 0, delta, finish_reason: reason }] };
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
const REASONS: Readonly<Record<string, string>> = {
  sensitive: 'content_filter',
  safety: 'content_filter',
  SAFETY: 'content_filter',
  max_tokens: 'length',
  MAX_TOKENS: 'length',
  model_length: 'length',
};

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
