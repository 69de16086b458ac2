import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { isJsonObject, type ToolResult } from '@hermes-fleet/protocol';
import { z } from 'zod';
import type { GuardedCall } from '../run/guards.ts';
import { outputText } from './output-text.ts';

/** What of an output tells it from others. In characters, from its start and from its end. */
const LOOK_CHARS = 32 * 1024;
const KEY_CHARS = 32;

const Input = z.record(z.string(), z.unknown());

/** Equal for equal calls: the same tool, the same input, and of one that only looks the same answer. */
export function callKey({ tool, input, mutates }: GuardedCall, result: ToolResult): string {
  return hash([tool, stable(input), mutates ? '' : plain(outputText(result.output))]);
}

/** Equal for equal errors: the same tool on the same thing, with the same words but for times and addresses. */
export function errorKey({ tool, input }: GuardedCall, { output, exitCode }: ToolResult): string {
  const text = plain(outputText(output));
  // A command's words are its error; without any, the command is.
  if (tool === 'shell_exec') return hash([tool, String(exitCode), text.trim() === '' ? stable(input) : text]);
  const fields = Input.safeParse(input);
  const about = fields.success ? (fields.data.path ?? fields.data.url) : undefined;
  return hash([tool, typeof about === 'string' ? normal(about) : stable(input), text]);
}

const ESCAPES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*[A-Za-z]`, 'g');

/** A text without what differs from one run to the next. */
function plain(text: string): string {
  const cut = text.length > 2 * LOOK_CHARS ? `${text.slice(0, LOOK_CHARS)}${text.slice(-LOOK_CHARS)}` : text;
  return cut
    .replace(ESCAPES, '')
    .replace(/\b\d+(?:\.\d+)? ?(?:ms|s|sec|secs|seconds|m|min|µs|us|ns)\b/g, '#')
    .replace(/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?Z?|\b\d\d:\d\d:\d\d(?:\.\d+)?\b/g, '#')
    .replace(/\bduration_ms:? ?[\d.]+/g, '#')
    .replace(/\b0x[0-9a-f]+\b/gi, '#')
    .replace(/\b(pid|PID)[ :=]+\d+/g, '#')
    .replace(/\/tmp\/[\w./-]+/g, '#');
}

/** JSON with its keys in order, its paths as one writes them, and its command lines whatever their spaces. */
function stable(value: unknown, key = ''): string {
  if (typeof value === 'string') {
    if (key === 'command') return JSON.stringify(value.trim().replace(/\s+/g, ' '));
    return JSON.stringify(key === 'path' ? normal(value) : value);
  }
  if (Array.isArray(value)) return `[${value.map((one) => stable(one)).join()}]`;
  if (!isJsonObject(value)) return JSON.stringify(value) ?? 'null';
  const fields = Object.keys(value).sort();
  return `{${fields.map((name) => `${JSON.stringify(name)}:${stable(value[name], name)}`).join()}}`;
}

const normal = (path: string): string => posix.normalize(path).replace(/(?<=.)\/$/, '');

function hash(parts: readonly string[]): string {
  const digest = createHash('sha256');
  for (const part of parts) digest.update(`${part.length}:${part}`);
  return digest.digest('hex').slice(0, KEY_CHARS);
}
