import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { isJsonObject, type ToolResult } from '@hermes-fleet/protocol';
import { z } from 'zod';
import type { GuardedCall } from '../run/guards.ts';
import { outputText } from './output-text.ts';

/** Characters compared at the start and at the end of an output. */
const LOOK_CHARS = 32 * 1024;
const KEY_CHARS = 32;

const Input = z.record(z.string(), z.unknown());

/** Identifies equal calls: same tool, same input and, for a read-only tool, same output. */
export function callKey({ tool, input, mutates }: GuardedCall, result: ToolResult): string {
  return hash([tool, stable(input), mutates ? '' : plain(outputText(result.output))]);
}

/** Identifies equal errors: same tool, same target, and same text apart from times and addresses. */
export function errorKey({ tool, input }: GuardedCall, { output, exitCode }: ToolResult): string {
  const text = plain(outputText(output));
  // Without output, the command itself identifies the error.
  if (tool === 'shell_exec') return hash([tool, String(exitCode), text.trim() === '' ? stable(input) : text]);
  const fields = Input.safeParse(input);
  const about = fields.success ? (fields.data.path ?? fields.data.url) : undefined;
  return hash([tool, typeof about === 'string' ? normal(about) : stable(input), text]);
}

const ESCAPES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*[A-Za-z]`, 'g');

/** Masks what differs between runs: times, durations, addresses, process IDs and temporary paths. */
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

/** JSON with sorted keys, normalized paths, and normalized whitespace in commands. */
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
