import { isJsonObject, type JsonValue } from '@hermes-fleet/protocol';
import { fences, fencesAndText } from './fences.ts';
import { parseJson, readFinalMessage } from './final-message.ts';

/** Why a last message is no end: it announces work, or it holds a tool call as text. */
export type UnfinishedEnding = 'intention' | 'call';

/** Characters examined at the end of a message. */
const MAX_CHARS = 20_000;

/**
 * Reads whether a message without calls is no end of the work (docs/agent.md#endings). What it quotes in fenced blocks or in
 * backticks is not taken for its own words, except a lone JSON block at its end that calls one of `tools`. Undefined for a
 * report, whatever it says.
 */
export function unfinishedEnding(message: string, tools: ReadonlySet<string>): UnfinishedEnding | undefined {
  const { text, stated } = readFinalMessage(message);
  const end = text.slice(-MAX_CHARS);
  const prose = withoutQuotes(end);
  if (hasTextCall(prose, tools) || endsWithJsonCall(end, prose, tools)) return 'call';
  return !stated && announces(prose) ? 'intention' : undefined;
}

const withoutQuotes = (text: string): string =>
  fencesAndText(text)
    .flatMap((part) => (typeof part === 'string' ? [part] : []))
    .join('\n')
    .replace(/`[^`\n]*`/g, '``')
    .trim();

/**
 * Calls in the formats of chat templates: Hermes and Qwen, Qwen Coder, Llama 3, Mistral, DeepSeek, Granite and Phi, Kimi,
 * gpt-oss (harmony), and XML invocations.
 */
const CALLS = [
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

function hasTextCall(prose: string, tools: ReadonlySet<string>): boolean {
  if (CALLS.some((pattern) => pattern.test(prose))) return true;
  // `<write_file><path>…`: the tool itself as an element.
  return [...prose.matchAll(/^\s*<([a-z]\w+)>\s*<\w+>/gm)].some(([, name = '']) => tools.has(name));
}

/** Words by which a text presents what it quotes. */
const PRESENTS =
  /example|format|looks? like|such as|e\.g\.|for instance|shape|syntax|body|request|payload|schema|document/i;

/** A JSON call as the whole text, or as the last block after an announcement or nothing. */
function endsWithJsonCall(text: string, prose: string, tools: ReadonlySet<string>): boolean {
  const whole = parseJson(text);
  if (whole !== undefined) return isCall(whole, tools);
  const block = fences(text).at(-1);
  if (block === undefined || text.slice(block.end).trim() !== '') return false;
  if (!/^(?:json|tool\w*|)$/i.test(block.info) || !isCall(parseJson(block.content), tools)) return false;
  return !PRESENTS.test(prose);
}

function isCall(value: JsonValue | undefined, tools: ReadonlySet<string>): boolean {
  if (Array.isArray(value)) return value.length > 0 && value.every((one) => isCall(one, tools));
  if (!isJsonObject(value)) return false;
  const inner = value.function ?? value;
  if (!isJsonObject(inner)) return false;
  const { name, tool, arguments: args, parameters, input } = inner;
  const called = name ?? tool;
  return typeof called === 'string' && tools.has(called) && (args ?? parameters ?? input) !== undefined;
}

const ACTS =
  'create|write|add|edit|fix|update|run|check|look|implement|start|begin|make|proceed|continue|read|re-read|examine|inspect|' +
  'verify|test|open|search|modify|install|refactor|explore|rename|remove|delete|change|move|replace|apply|build|try|' +
  'investigate|analy[sz]e|review|set up|go|do|get|find|use|call|execute|list|view|see|correct|adjust|rewrite|work|generate|' +
  'finish|complete|perform|fetch|commit|put|save|append|insert|configure';
const LEAD = '(?:(?:now|next|first|then|so|okay|ok|great|sure|alright|perfect|good|finally|and)[,.!:]?\\s+)*';
const WILL =
  "(?:I'll|I will|I'm going to|I am going to|I'm about to|let me|let's|I need to|I still need to|I have to|we'll|we need to)";
const ADVERB =
  '(?:(?:now|next|then|also|first|just|quickly|go ahead and|start by|begin by|continue to)\\s+)*';
const INTENTION = new RegExp(`^${LEAD}${WILL}\\s+${ADVERB}(?:${ACTS})(?:ing)?\\b`, 'i');
const UNDER_WAY = new RegExp(
  `^${LEAD}(?:creating|writing|adding|editing|fixing|updating|running|checking|implementing|starting|applying|proceeding)\\b.*(?:\\bnow\\b|…|\\.\\.\\.|:$)`,
  'i',
);
/** An offer, a condition, or something for later: the work does not depend on it. */
const OFFER =
  /\b(?:if you|should you|if (?:it|that|this|they)|once you|when you|whenever|on request|would you|do you want|in future|in the future|later|you can|for you to|let me know|wait for)\b|\?\s*$/i;

/** True if the last sentence says what the model does next. */
function announces(prose: string): boolean {
  const paragraph = prose.split(/\n\s*\n/).findLast((one) => one.trim() !== '') ?? '';
  const line = paragraph.split('\n').findLast((one) => one.trim() !== '') ?? '';
  const sentence = line.split(/(?<=[.!?])\s+(?=[A-Z"'(])/).findLast((one) => one.trim() !== '') ?? '';
  const said = sentence
    .replace(/’/g, "'")
    .replace(/^[\s>*_#-]+/, '')
    .trim();
  return (INTENTION.test(said) || UNDER_WAY.test(said)) && !OFFER.test(said);
}
