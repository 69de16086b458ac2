import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { isJsonObject, type JsonObject, mediaTypeOfName, systemCode } from '@hermes-fleet/protocol';
import type { MessagePart } from '@hermes-fleet/protocol/ports';
import type { Streams } from '../command-line/command.ts';
import { msOf, UsageError } from '../command-line/option-values.ts';

/** The most that all attached files may have together: in base64 and beside the brief, a profile takes 1 MiB per request. */
export const MAX_PROFILE_FILES_BYTES = 750_000;
/** As MAX_PROFILE_FILES_BYTES, for other agents. One may take less: then it refuses the message. */
export const MAX_FILES_BYTES = 16 * 1024 * 1024;

/**
 * The brief: the argument, stdin for `-` and where stdin is not a terminal, or what the user writes in $VISUAL or $EDITOR.
 * Throws UsageError for an empty one.
 */
export async function readBrief(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  stdin: Streams['stdin'],
): Promise<string> {
  const [word, ...more] = words;
  if (more.length > 0)
    throw new UsageError('send takes one brief: quote it, as in fleet send "Write a note"');
  const brief = word !== undefined && word !== '-' ? word : await fromInput(word, env, stdin);
  if (brief.trim() === '') throw new UsageError('the brief is empty: nothing was sent');
  return brief;
}

async function fromInput(
  word: string | undefined,
  env: NodeJS.ProcessEnv,
  stdin: Streams['stdin'],
): Promise<string> {
  const input = stdin();
  if (word === '-' || input.isTTY !== true) return readAll(input);
  const editor = env.VISUAL || env.EDITOR;
  if (!editor)
    throw new UsageError('send takes a brief, - for stdin, or a variable EDITOR that names an editor');
  const dir = mkdtempSync(join(tmpdir(), 'fleet-brief-'));
  try {
    const file = join(dir, 'brief.md');
    writeFileSync(file, '');
    // The variable may hold options, so a shell splits it.
    const { status } = spawnSync('sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit', env });
    if (status !== 0) throw new UsageError(`the editor ended with ${status ?? 'a signal'}: nothing was sent`);
    return readFileSync(file, 'utf8');
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** The files to attach, with the media type of their name. Throws UsageError for one that cannot be read or is too large. */
export function readAttachments(
  paths: readonly string[] = [],
  maxBytes: number = MAX_FILES_BYTES,
): MessagePart[] {
  let left = maxBytes;
  return paths.map((path, index) => {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat && !stat.isFile()) throw unusable('file', path, 'is not a file');
    left -= stat?.size ?? 0;
    if (left < 0) throw unusable('file', path, `makes the files larger than ${maxBytes} bytes together`);
    const mediaType = mediaTypeOfName(path) ?? 'application/octet-stream';
    const bytes = readNamed('file', path).toString('base64');
    return { kind: 'file', index, filename: basename(path), mediaType, bytes };
  });
}

/** The JSON Schema in a file. Throws UsageError with the file and the reason. */
export function readSchema(path: string): JsonObject {
  const text = readNamed('schema', path).toString();
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/\s+/g, ' ') : '';
    throw unusable('schema', path, `is not JSON (${reason})`);
  }
  if (isJsonObject(schema)) return schema;
  throw unusable('schema', path, 'must hold a JSON Schema, which is an object');
}

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EISDIR: 'is not a file',
};

function readNamed(option: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const code = systemCode(error) ?? '';
    throw unusable(option, path, UNREADABLE[code] ?? `cannot be read (${code})`);
  }
}

const unusable = (option: string, path: string, reason: string): UsageError =>
  new UsageError(`--${option} ${path} ${reason}: nothing was sent`);

/** A deadline as a time: `10m` is ten minutes after `now`, and an ISO 8601 time is itself. Throws UsageError. */
export function deadlineOf(text: string, now: number): number {
  const ms = msOf(text);
  const at = ms === undefined ? Date.parse(text) : now + ms;
  if (Number.isNaN(at) || (ms === undefined && !/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(text)))
    throw new UsageError(
      `--deadline must be a time from now such as 10m, or one with its zone such as 2030-01-01T00:00:00Z, not "${text}"`,
    );
  return at;
}
