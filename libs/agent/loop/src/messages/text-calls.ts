import { isJsonObject, type JsonValue } from '@hermes-fleet/protocol';
import type { Fence } from './fences.ts';
import { parseJson } from './final-message.ts';
import { bareName } from './tool-names.ts';

/** The parts of a message that may hold a call. */
interface MessageParts {
  readonly own: string;
  /** The same without what it quotes in backticks. */
  readonly prose: string;
  /** The fenced block at the end, if the message ends with one. */
  readonly block: Fence | undefined;
}

/** True for a tool call as text: in the format of a chat template anywhere, or at the end in any form with a tool's name. */
export function holdsCall({ own, prose, block }: MessageParts, tools: ReadonlySet<string>): boolean {
  if (TEMPLATES.some((pattern) => pattern.test(prose)) || isElement(prose, tools)) return true;
  if (block !== undefined) return isCallBlock(block, tools) && !PRESENTS.test(prose);
  return isAction(own, tools) || endsWithJson(own, tools) || endsWithFunction(own, tools);
}

/** Calls of Hermes, Qwen (Coder), Llama 3, Mistral, DeepSeek, Granite, Phi, Kimi, gpt-oss (harmony), XML invocations. */
const TEMPLATES = [
  /<tool_call>\s*(?:\{|<function=|[\w.-]+\s*<arg_key>)/,
  /<function=[\w.:-]+>/,
  /<\|python_tag\|>/,
  /\[TOOL_CALLS\]/,
  /<｜tool▁calls?▁begin｜>/,
  /<\|tool_calls?(?:_section_begin|_begin)?\|>/,
  /<\|channel\|>commentary to=functions\./,
  /<(?:antml:)?invoke name="[\w.:-]+">/,
  /<tool_use>\s*[<{]/,
] as const;

/** Words by which a text presents what it quotes. */
const PRESENTS =
  /example|format|looks? like|such as|e\.g\.|for instance|shape|syntax|signature|body|request|payload|schema|document|response|prints|returns/i;

const MAX_STARTS = 5;

const lastMatches = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].slice(-MAX_STARTS);

/** `<write_file><path>…` anywhere, or `<write_file path="…">` up to the end: the tool itself as an element. */
function isElement(prose: string, tools: ReadonlySet<string>): boolean {
  const nested = prose.matchAll(/^[^\S\n]*<([a-z]\w+)>\s*<\w+>/gm);
  if ([...nested].some(([, name = '']) => tools.has(name))) return true;
  const tags = lastMatches(prose, /^[^\S\n]*<([a-z]\w+)[^\S\n]+\w+=["'][^>\n]*>/gm);
  return tags.some(({ 0: tag, 1: name = '', index }) => {
    if (!tools.has(name) || PRESENTS.test(prose.slice(0, index))) return false;
    const rest = prose.slice(index + tag.length);
    const closing = rest.indexOf(`</${name}>`);
    return rest === '' || (closing !== -1 && rest.slice(closing) === `</${name}>`);
  });
}

function isAction(text: string, tools: ReadonlySet<string>): boolean {
  const paragraph = text.slice(text.lastIndexOf('\n\n') + 1);
  const actions = lastMatches(paragraph, /^\**Action:\**[^\S\n]*`?(\w+)`?[^\S\n]*\n\**Action Input:/gm);
  return actions.some(([, name = '']) => tools.has(name));
}

/** A block in JSON, or one of Gemini's `tool_code`. */
function isCallBlock({ info, content }: Fence, tools: ReadonlySet<string>): boolean {
  if (/^(?:json|tool\w*|)$/i.test(info) && isJsonCall(parseJson(content), tools)) return true;
  const code = content.trim();
  return (
    /^tool_c(?:ode|alls?)$/i.test(info) && endsWithFunction(/^print\((.*)\)$/s.exec(code)?.[1] ?? code, tools)
  );
}

/** JSON as the whole text, or after prose in its last lines. */
function endsWithJson(text: string, tools: ReadonlySet<string>): boolean {
  if (isJsonCall(parseJson(text), tools)) return true;
  const starts = lastMatches(
    text,
    /(?:\[\s*)?\{\s*"(?:name|tool|type|function|arguments|parameters|input)"\s*:/g,
  );
  return starts.some(
    ({ index }) => isJsonCall(parseJson(text.slice(index)), tools) && !PRESENTS.test(text.slice(0, index)),
  );
}

function isJsonCall(value: JsonValue | undefined, tools: ReadonlySet<string>): boolean {
  if (Array.isArray(value)) return value.length > 0 && value.every((one) => isJsonCall(one, tools));
  if (!isJsonObject(value)) return false;
  const inner = value.function ?? value;
  if (!isJsonObject(inner)) return false;
  const { name, tool, arguments: args, parameters, input } = inner;
  const called = name ?? tool;
  return (
    typeof called === 'string' && tools.has(bareName(called)) && (args ?? parameters ?? input) !== undefined
  );
}

/** `write_file(path="…")`, also in brackets or with a prefix, from the beginning of a line to the end of the text. */
function endsWithFunction(text: string, tools: ReadonlySet<string>): boolean {
  const starts = lastMatches(text, /^\[?([a-z][\w.]*)(?=\((?:\w+\s*=|[{"']))/gim);
  return starts.some(({ 0: start, 1: name = '', index }) => {
    if (!tools.has(bareName(name)) || PRESENTS.test(text.slice(0, index))) return false;
    return /^[\];,]*$/.test(text.slice(endOfCalls(text, index + start.length)));
  });
}

/** The place after the calls of a list, the first of which has its parenthesis at `start`. */
function endOfCalls(text: string, start: number): number {
  const end = endOfParentheses(text, start);
  const [next] = (end > 0 && /^,\s*\w+(?=\()/.exec(text.slice(end))) || [];
  return next === undefined ? end : endOfCalls(text, end + next.length);
}

/** A string literal, which may be unclosed, or a parenthesis. */
const TOKEN = /""".*?(?:"""|$)|'''.*?(?:'''|$)|"(?:[^"\\]|\\.)*(?:"|$)|'(?:[^'\\]|\\.)*(?:'|$)|[()]/gs;

/** The place after the parenthesis that closes the one at `start`; the beginning of the text if none does. */
function endOfParentheses(text: string, start: number): number {
  let depth = 0;
  for (const { 0: token, index } of text.slice(start).matchAll(TOKEN)) {
    if (token === '(') depth += 1;
    if (token === ')') depth -= 1;
    if (depth === 0) return start + index + 1;
  }
  return 0;
}
