import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { keptLines, type LogLines } from './log-lines.ts';

async function read(lines: LogLines): Promise<string[]> {
  const found: string[] = [];
  for await (const line of lines()) found.push(line);
  return found;
}

test('kept lines can be read again, and are split at line feeds only, whatever the chunks', async () => {
  const text = 'é one\u2028two\r\nthree\n\nfour';
  const bytes = [...Buffer.from(text)].map((byte) => Buffer.from([byte]));
  const lines = await keptLines(Readable.from(bytes));
  const wanted = ['é one\u2028two\r', 'three', '', 'four'];
  assert.deepEqual([await read(lines), await read(lines)], [wanted, wanted]);
  assert.deepEqual(await read(await keptLines(Readable.from([]))), []);
});

test('a line without an end is cut, and those after it are whole', async () => {
  const chunk = 'x'.repeat(64 * 1024);
  const lines = await read(await keptLines(Readable.from([...Array(200).fill(chunk), '\nnext\n'])));
  assert.deepEqual([lines.length, lines[1]], [2, 'next']);
  assert.ok((lines[0]?.length ?? 0) < 2 * 1024 * 1024);
});

test('more than can be kept is refused', async () => {
  const kept = keptLines(Readable.from([randomBytes(10_000)]), 1_000);
  await assert.rejects(kept, { code: 'INVALID_PARAMS', message: 'the logs on stdin are too large' });
});
