import { FleetError } from '@hermes-fleet/protocol';
import { type ResultPart, resultUrl } from '@hermes-fleet/protocol/api';
import { fleetApi } from '../client/api.ts';
import { sanitize } from '../command-line/output.ts';
import type { KeptResult } from './kept-result.ts';

const DOWNLOAD_MS = 600_000;

/**
 * The bytes of a part of a result. Throws NO_RESULT and ARTIFACT_TOO_LARGE as the profile does, and PEER_UNREACHABLE for an answer
 * that breaks off.
 */
export async function* readPart(
  { target, taskId }: KeptResult,
  part: ResultPart,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const options = { timeoutMs: DOWNLOAD_MS, signal };
  const response = await fleetApi().download(target, resultUrl(taskId, part), options);
  try {
    for await (const chunk of response.body ?? []) yield chunk;
  } catch (cause) {
    const isLate = cause instanceof Error && cause.name === 'TimeoutError';
    const message = isLate
      ? `the answer of ${target.name} did not end within ${DOWNLOAD_MS / 1000} s`
      : `the answer of ${target.name} broke off before its end: try it again, and see the log of ${target.name} if it does so again`;
    throw new FleetError('PEER_UNREACHABLE', message, { cause });
  }
}

const MAX_TEXT_MIB = 8;

/** The text of a diff, for a document. Throws ARTIFACT_TOO_LARGE for more than 8 MiB. */
export async function readText(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const read: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > MAX_TEXT_MIB * 1024 * 1024)
      throw new FleetError(
        'ARTIFACT_TOO_LARGE',
        `the diff has more than ${MAX_TEXT_MIB} MiB: leave out --json`,
      );
    read.push(chunk);
  }
  return Buffer.concat(read).toString();
}

/** Bytes as they are. Throws `none` where there are none. */
export async function* notEmpty(
  chunks: AsyncIterable<Uint8Array>,
  none: FleetError,
): AsyncGenerator<Uint8Array> {
  let isEmpty = true;
  for await (const chunk of chunks) {
    isEmpty &&= chunk.length === 0;
    yield chunk;
  }
  if (isEmpty) throw none;
}

/** Git's rule for a binary file: a NUL among its first bytes. */
const HEAD_BYTES = 8_000;

/**
 * Text for a terminal, in which nothing can control it; lines and tabs stay. Throws INVALID_PARAMS with `binary` before the first
 * text of what is none.
 */
export async function* forTerminal(
  chunks: AsyncIterable<Uint8Array>,
  binary: string,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let bytes = 0;
  let held = '';
  for await (const chunk of chunks) {
    if (bytes < HEAD_BYTES && chunk.subarray(0, HEAD_BYTES - bytes).includes(0))
      throw new FleetError('INVALID_PARAMS', binary);
    bytes += chunk.length;
    const text = held + decoder.decode(chunk, { stream: true });
    held = text.endsWith('\r') ? '\r' : '';
    yield harmless(text.slice(0, text.length - held.length));
  }
  yield harmless(held + decoder.decode());
}

const harmless = (text: string): string => text.replaceAll('\r\n', '\n').replace(/[^\n\t]+/g, sanitize);
