import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import type { ToolResult } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import type { AgentConfig } from '../config/config-yaml.ts';
import type { GuardedCall } from '../run/guards.ts';
import { capText, isLong, measure, summarize } from './cap-text.ts';
import { outputText } from './commands/output-text.ts';
import { type Reading, readingOf } from './reading.ts';
import type { Spill } from './spill.ts';

/** Maximum output of one tool call shown to the model, failures included. */
export const MAX_OUTPUT_BYTES = 64 * 1024;
const FIRST_ENTRIES = 10;
const MAX_ENTRY_CHARS = 400;

/**
 * Limits the output shown to the model; the workspace keeps it whole (docs/agent.md#guards). A long success becomes a
 * summary, unless it shows files; a failure beyond `maxBytes` its head, tail and errors.
 */
export async function compact(
  call: GuardedCall,
  result: ToolResult,
  hooks: AgentConfig['hooks'],
  maxBytes: number = MAX_OUTPUT_BYTES,
  spill: Spill,
): Promise<ToolResult> {
  const { ok, output } = result;
  const shortens = ok && hooks.compactSuccessOutput;
  const limits = { lines: hooks.compactOutputThreshold };
  if (isCommandOutput(output)) {
    const { stdout = '', stderr = '', ...rest } = output;
    const text = outputText(output);
    const reading = shortens ? readingOf(commandOf(call)) : undefined;
    if (shortens && isLong(text, limits) && !isAskedFor(reading, text)) {
      const summary = summarize('Command succeeded', text, await spill(call, text));
      return { ...result, output: { ...rest, stdout: summary } };
    }
    const streams = { stdout: String(stdout), stderr: String(stderr) };
    const keep = reading?.isKeptOutput ? async () => READ_IN_PARTS : spill;
    return { ...result, output: { ...rest, ...(await capped(streams, text, maxBytes, call, keep)) } };
  }
  if (shortens && isCompacted(call.tool)) {
    const shown = await shortened(call, output, limits, spill);
    if (shown !== undefined) return { ...result, output: shown };
  }
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  if (Buffer.byteLength(text) <= MAX_OUTPUT_BYTES) return result;
  return { ...result, output: capText(text, MAX_OUTPUT_BYTES, await spill(call, text)) };
}

const Command = z.object({ command: z.string() });

const commandOf = ({ tool, input }: GuardedCall): string =>
  tool === 'shell_exec' ? (Command.safeParse(input).data?.command ?? '') : '';

/** The most that `read_file` shows of a file at once. */
const PAGE = { lines: 500, bytes: 48 * 1024 };
const READ_IN_PARTS = 'read it in parts, with sed -n or read_file';

/** True for files that the command shows on purpose: kept outputs always, others up to a page. */
function isAskedFor(reading: Reading | undefined, text: string): boolean {
  if (reading === undefined || reading.isKeptOutput) return reading !== undefined;
  const { lines, bytes } = measure(text);
  return lines <= PAGE.lines && bytes <= PAGE.bytes;
}

/** All other tools limit and page their own output. */
const isCompacted = (tool: string): boolean => tool === 'grep_files' || tool.startsWith('mcp__');

type CommandOutput = JsonObject & { readonly stdout?: JsonValue; readonly stderr?: JsonValue };

const isCommandOutput = (output: JsonValue): output is CommandOutput =>
  isJsonObject(output) && 'exit_code' in output;

/** Fits both streams into one limit. The shorter one is cut only if it exceeds half of the limit. */
async function capped(
  streams: { readonly stdout: string; readonly stderr: string },
  text: string,
  maxBytes: number,
  call: GuardedCall,
  spill: Spill,
): Promise<JsonObject> {
  const bytes = { stdout: Buffer.byteLength(streams.stdout), stderr: Buffer.byteLength(streams.stderr) };
  const kept = bytes.stdout + bytes.stderr > maxBytes ? await spill(call, text) : undefined;
  const room = (other: number): number => Math.max(Math.floor(maxBytes / 2), maxBytes - other);
  const stdout = capText(streams.stdout, room(bytes.stderr), kept);
  const stderr = capText(streams.stderr, room(bytes.stdout), kept);
  return { ...(stdout !== '' && { stdout }), ...(stderr !== '' && { stderr }) };
}

/** The first entries of a list and their total, or a summary. Undefined if the output is short enough. */
async function shortened(
  call: GuardedCall,
  output: JsonValue,
  limits: { readonly lines: number },
  spill: Spill,
): Promise<JsonValue | undefined> {
  if (typeof output === 'string') {
    return isLong(output, limits)
      ? summarize('The call succeeded', output, await spill(call, output))
      : undefined;
  }
  const text = JSON.stringify(output, undefined, 1);
  const [name, entries] = longestList(output) ?? [];
  if (name === undefined || entries === undefined) {
    if (!isLong(text, { lines: Number.POSITIVE_INFINITY })) return undefined;
    return summarize('The call succeeded', text, await spill(call, text));
  }
  if (entries.length <= limits.lines && !isLong(text, { lines: Number.POSITIVE_INFINITY })) return undefined;
  const kept = await spill(call, text);
  const first = entries.slice(0, FIRST_ENTRIES).map(shortEntry);
  const rest = isJsonObject(output) ? output : {};
  const shown = { ...rest, [name]: first, shown: `the first ${first.length} of ${entries.length}; ${kept}` };
  return measure(JSON.stringify(shown)).bytes > MAX_SHOWN_BYTES
    ? summarize('The call succeeded', text, kept)
    : shown;
}

const MAX_SHOWN_BYTES = 8 * 1024;

function longestList(output: JsonValue): [name: string, entries: readonly JsonValue[]] | undefined {
  if (Array.isArray(output)) return ['entries', output];
  if (!isJsonObject(output)) return undefined;
  const lists = Object.entries(output).flatMap(([name, value]): [string, readonly JsonValue[]][] =>
    Array.isArray(value) ? [[name, value]] : [],
  );
  return lists.toSorted(([, a], [, b]) => b.length - a.length)[0];
}

function shortEntry(entry: JsonValue): JsonValue {
  const text = typeof entry === 'string' ? entry : JSON.stringify(entry);
  return text.length > MAX_ENTRY_CHARS ? `${text.slice(0, MAX_ENTRY_CHARS)}…` : entry;
}
