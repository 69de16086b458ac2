import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { FleetError } from '@hermes-fleet/protocol';
import { fleetErrorOf } from '@hermes-fleet/protocol/testing';
import { base, to } from '../testing/fetching.ts';
import { startServer } from '../testing/server.ts';
import type { Resolve } from './destination.ts';
import { type GuardedFetchOptions, guardedFetch } from './guarded-fetch.ts';

describe('guardedFetch: the response', () => {
  const MAX = 100_000;
  const bomb = Buffer.alloc(50_000_000);
  const text = 'hello '.repeat(100);
  const encoded: [coding: string, bytes: Buffer, expected: string | RegExp][] = [
    ['gzip', gzipSync(text), text],
    ['deflate', deflateSync(text), text],
    ['br', brotliCompressSync(text), text],
    ['gzip', gzipSync(bomb, { level: 1 }), /more than 100000 bytes/],
    [
      'br',
      brotliCompressSync(bomb, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
      /more than 100000 bytes/,
    ],
    ['deflate', deflateSync(bomb, { level: 1 }), /more than 100000 bytes/],
    ['gzip', Buffer.from('no gzip'), /cannot be decompressed/],
    ['br', Buffer.from('no brotli at all'), /cannot be decompressed/],
    ['gzip', gzipSync('cut'.repeat(1000)).subarray(0, 20), /cannot be decompressed/],
    ['gzip, gzip', gzipSync(gzipSync(text)), /not requested/],
    ['zstd', Buffer.from('x'), /not requested/],
    ['__proto__', Buffer.from('x'), /not requested/],
    ['identity', Buffer.alloc(MAX + 1), /more than 100000 bytes/],
    ['identity', Buffer.from(text), text],
  ];
  for (const [coding, bytes, expected] of encoded) {
    it(`${coding} of ${bytes.length} bytes: ${String(expected).slice(0, 30)}`, async (t) => {
      const { port } = await startServer(t, (_request, response) =>
        response.writeHead(200, { 'content-encoding': coding }).end(bytes),
      );
      const options = { ...base(), resolve: to('127.0.0.1'), allowInternal: ['a.test'], maxBytes: MAX };
      const read = guardedFetch(`http://a.test:${port}/`, options).then(({ response }) => response.text());
      if (typeof expected === 'string') assert.equal(await read, expected);
      else assert.match((await fleetErrorOf(read)).message, expected);
    });
  }

  it('an endless stream that decompresses to nothing is cut off', async (t) => {
    // Empty stored blocks of deflate, five bytes each.
    const emptyBlocks = Buffer.concat(Array.from({ length: 10_000 }, () => Buffer.from([0, 0, 0, 255, 255])));
    const { port } = await startServer(t, (_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.write(gzipSync('').subarray(0, 10));
      const more = (): void => {
        if (!response.destroyed) response.write(emptyBlocks, more);
      };
      more();
    });
    const options = { ...base(), resolve: to('127.0.0.1'), allowInternal: ['a.test'] };
    const { response } = await guardedFetch(`http://a.test:${port}/`, options);
    assert.match((await fleetErrorOf(response.text())).message, /more than 1000000 bytes/);
  });

  it('is read on demand, and canceling it closes the connection', async (t) => {
    const closed = Promise.withResolvers<void>();
    let written = 0;
    const { port } = await startServer(t, (_request, response) => {
      response.once('close', () => closed.resolve());
      const more = (): void => {
        written += 65_536;
        if (!response.destroyed) response.write(Buffer.alloc(65_536), more);
      };
      more();
    });
    const options = { ...base(), resolve: to('127.0.0.1'), allowInternal: ['a.test'], maxBytes: 1e12 };
    const { response } = await guardedFetch(`http://a.test:${port}/`, options);
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await closed.promise;
    assert.ok(written < 50_000_000, `${written} bytes were written`);
  });

  it('with an invalid HTTP status is rejected', async (t) => {
    for (const status of [600, 999]) {
      const { port } = await startServer(t, (_request, response) => response.writeHead(status).end('x'));
      const options = { ...base(), resolve: to('127.0.0.1'), allowInternal: ['a.test'] };
      assert.match(
        (await fleetErrorOf(guardedFetch(`http://a.test:${port}/`, options))).message,
        /invalid HTTP status \d+/,
      );
    }
  });

  it('may have no body', async (t) => {
    const { port } = await startServer(t, (_request, response) => response.writeHead(204).end());
    const options = { ...base(), resolve: to('127.0.0.1'), allowInternal: ['a.test'] };
    const { response } = await guardedFetch(`http://a.test:${port}/`, options);
    assert.deepEqual([response.status, response.body], [204, null]);
  });

  const unfinished: [name: string, handle: Parameters<typeof startServer>[1]][] = [
    ['that never begins', () => undefined],
    ['that stops in the middle', (_request, response) => response.write('half')],
  ];
  for (const [name, handle] of unfinished) {
    it(`${name} ends with the timeout or the signal`, async (t) => {
      const { port } = await startServer(t, handle);
      const options = { ...base(), resolve: to('127.0.0.1'), allowInternal: ['a.test'] };
      const read = (more: Partial<GuardedFetchOptions>) =>
        guardedFetch(`http://a.test:${port}/`, { ...options, ...more }).then(({ response }) =>
          response.text(),
        );
      const late = await fleetErrorOf(read({ timeoutMs: 50 }));
      assert.deepEqual([late.code, late.message], ['PEER_UNREACHABLE', 'no answer within 50 ms']);
      const controller = new AbortController();
      const reading = read({ signal: controller.signal });
      const reason = new FleetError('CANCELED', 'enough');
      controller.abort(reason);
      assert.equal(await fleetErrorOf(reading), reason);
    });
  }

  it('that breaks off is an error', async (t) => {
    const { port } = await startServer(t, (_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => response.destroy());
    });
    const options = { ...base(), resolve: to('127.0.0.1'), allowInternal: ['a.test'] };
    const { response } = await guardedFetch(`http://a.test:${port}/`, options);
    assert.match((await fleetErrorOf(response.text())).message, /ended early/);
  });

  it('a hanging DNS lookup ends with the timeout', async () => {
    const resolve: Resolve = () => new Promise(() => undefined);
    const error = await fleetErrorOf(
      guardedFetch('http://a.example/', { ...base(), resolve, timeoutMs: 50 }),
    );
    assert.equal(error.message, 'no answer within 50 ms');
  });
});
