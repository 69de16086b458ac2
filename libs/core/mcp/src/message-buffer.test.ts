import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageBuffer } from './message-buffer.ts';

const ping = { jsonrpc: '2.0' as const, id: 1, method: 'ping' };

test('messages come in any pieces, and a line that is none is an error once', () => {
  const buffer = new MessageBuffer();
  const bytes = Buffer.from(`${JSON.stringify(ping)}\r\nwelcome é\n{"a":1}\n${JSON.stringify(ping)}\n`);
  for (const byte of bytes) buffer.append(Buffer.from([byte]));
  assert.deepEqual(buffer.readMessage(), ping);
  assert.throws(() => buffer.readMessage(), SyntaxError);
  assert.throws(() => buffer.readMessage(), { name: /ZodError/ });
  assert.deepEqual(buffer.readMessage(), ping);
  assert.equal(buffer.readMessage(), null);
});

test('a line has at most 10 MB', () => {
  const buffer = new MessageBuffer();
  const piece = Buffer.alloc(1024 * 1024, 'x');
  for (let i = 0; i < 10; i += 1) buffer.append(piece);
  assert.throws(() => buffer.append(piece), /more than 10485760 bytes/);
});
