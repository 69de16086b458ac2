import { isJsonObject, type JsonObject, parseJson } from '@hermes-fleet/protocol';

/**
 * The object that a tool call's input holds where it is not JSON as a whole: with line breaks inside of strings, followed by
 * text, in a fenced block, or as a JSON text inside of a string. Undefined for an input that lacks its end, or that holds
 * more than one object: nothing is invented, and nothing is lost.
 */
export function repairedInput(text: string): JsonObject | undefined {
  const whole = parseJson(text);
  if (typeof whole === 'string') return repairedInput(whole);
  if (isJsonObject(whole)) return whole;
  const start = text.indexOf('{');
  if (start === -1 || !/^\s*(?:```\w*\s*)?$/.test(text.slice(0, start))) return undefined;
  const { json, rest } = firstObject(text.slice(start));
  // Some gateways put an empty object before the input.
  if (json === '{}' && rest.trim() !== '') return repairedInput(rest);
  const value = parseJson(json);
  const isMore = /^\s*,|\{|"\s*:/.test(rest);
  return isJsonObject(value) && !isMore ? value : undefined;
}

/** The text up to the brace that closes the first one, with control characters inside of strings escaped. */
function firstObject(text: string): { readonly json: string; readonly rest: string } {
  let json = '';
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(/"[^"\\]*(?:\\[\s\S][^"\\]*)*"?|[{}]|[^"{}]+/g)) {
    json += token.startsWith('"')
      ? token.replace(/\p{Cc}/gu, (char) => JSON.stringify(char).slice(1, -1))
      : token;
    if (token === '{') depth += 1;
    if (token === '}') depth -= 1;
    if (depth === 0) return { json, rest: text.slice(index + token.length) };
  }
  return { json, rest: '' };
}
