import { isJsonObject, type JsonValue } from '@hermes-fleet/protocol';

/** A result as one text: a command's stdout followed by stderr; for other tools, the text or its JSON. */
export function outputText(output: JsonValue): string {
  if (typeof output === 'string') return output;
  if (!isJsonObject(output)) return JSON.stringify(output);
  const { stdout, stderr } = output;
  const streams = [stdout, stderr].filter((stream) => typeof stream === 'string' && stream !== '');
  if (streams.length > 0) return streams.join('\n');
  return 'exit_code' in output ? '' : JSON.stringify(output);
}
