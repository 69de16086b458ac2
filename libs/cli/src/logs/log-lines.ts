import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { FleetError } from '@hermes-fleet/protocol';

/** The lines of logs, each without its line break; they can be read again. */
export type LogLines = () => AsyncIterable<string>;

/** Of one line; no service writes a longer one. A longer one is cut, so that it is no JSON any more. */
const MAX_LINE = 1024 * 1024;
/** Of a stream that is kept, compressed: ten times what the logs of a fleet in containers take (docker-compose.yml). */
const MAX_KEPT_BYTES = 128 * 1024 * 1024;
const FASTEST = { level: 1 };

/** The lines of these files, one file after the other. */
export const linesOfFiles = (files: readonly string[]): LogLines =>
  async function* () {
    for (const file of files) yield* splitLines(createReadStream(file, 'utf8'));
  };

/** Reads a stream to its end and keeps it compressed. Throws INVALID_PARAMS when that takes more than `maxBytes`. */
export async function keptLines(stream: Readable, maxBytes = MAX_KEPT_BYTES): Promise<LogLines> {
  const kept: Buffer[] = [];
  let bytes = 0;
  await pipeline(stream, createGzip(FASTEST), async (compressed: AsyncIterable<Buffer>) => {
    for await (const chunk of compressed) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new FleetError('INVALID_PARAMS', 'the logs on stdin are too large');
      kept.push(chunk);
    }
  });
  return () => splitLines(Readable.from(kept).pipe(createGunzip()).setEncoding('utf8'));
}

/** Splits at line feeds only: text in a record may have other line separators, which JSON leaves as they are. */
async function* splitLines(stream: AsyncIterable<string>): AsyncGenerator<string> {
  let open = '';
  for await (const text of stream) {
    const [first = '', ...more] = text.split('\n');
    open += first;
    for (const next of more) {
      yield open;
      open = next;
    }
    if (open.length > MAX_LINE) open = open.slice(0, MAX_LINE);
  }
  if (open !== '') yield open;
}
