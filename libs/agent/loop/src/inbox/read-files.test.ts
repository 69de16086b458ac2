import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { type FilePart, systemClock } from '@hermes-fleet/protocol/ports';
import { type ReadOptions, readFiles, UnreadableFile } from './read-files.ts';

async function serve(t: TestContext, handle: RequestListener): Promise<string> {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return `http://127.0.0.1:${address.port}`;
}

const options = (more: Partial<ReadOptions> = {}): ReadOptions => ({
  maxBytes: 1000,
  timeoutMs: 60_000,
  allowInternal: ['127.0.0.1'],
  clock: systemClock,
  signal: new AbortController().signal,
  ...more,
});

const at = (url: string, more: Partial<FilePart> = {}): FilePart => ({
  index: 1,
  kind: 'file',
  url,
  ...more,
  bytes: undefined,
});
const inline = (text: string, filename?: string): FilePart => ({
  index: 0,
  kind: 'file',
  bytes: Buffer.from(text).toString('base64'),
  ...(filename === undefined ? {} : { filename }),
});

async function failure(read: Promise<unknown>): Promise<[message: string, transient: boolean]> {
  const error = await read.then(
    () => assert.fail('it was read'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof UnreadableFile, String(error));
  return [error.message, error.transient];
}

describe('the files of a task', () => {
  it('are read from the message and from their addresses', async (t) => {
    const url = await serve(t, (_request, response) =>
      response.writeHead(200, { 'content-type': 'application/pdf' }).end('there'),
    );
    const files = await readFiles(options(), [
      inline('here', '../here.txt'),
      inline(''),
      at(`${url}/docs/plan.pdf?key=secret`),
      at(url, { mediaType: 'text/x-plan', filename: 'p.txt' }),
    ]);
    assert.deepEqual(
      files.map(({ name, mediaType, bytes }) => [name, mediaType, Buffer.from(bytes).toString()]),
      [
        ['here.txt', 'application/octet-stream', 'here'],
        ['file-1', 'application/octet-stream', ''],
        ['plan.pdf', 'application/pdf', 'there'],
        ['p.txt', 'text/x-plan', 'there'],
      ],
    );
  });

  it('are asked for by their media type, if a header can have it', async (t) => {
    const asked: unknown[] = [];
    const url = await serve(t, (request, response) => {
      asked.push(request.headers.accept);
      response.end('there');
    });
    for (const mediaType of ['Text/X-Plan; charset=utf-8', 'text/plain\r\nx-other: 1', 'größe', undefined])
      await readFiles(options(), [at(url, mediaType === undefined ? {} : { mediaType })]);
    assert.deepEqual(asked, ['text/x-plan', '*/*', '*/*', '*/*']);
  });

  it('may have as many bytes as allowed together, and not one more', async (t) => {
    const url = await serve(t, (request, response) =>
      response.end('x'.repeat(Number(request.url?.slice(1)))),
    );
    assert.equal((await readFiles(options(), [inline('x'.repeat(400)), at(`${url}/600`)])).length, 2);
    for (const parts of [
      [inline('x'.repeat(400)), at(`${url}/601`)],
      [inline('x'.repeat(1001))],
      [at(`${url}/1001`)],
    ]) {
      const [message, transient] = await failure(readFiles(options(), parts));
      assert.match(message, /1000 bytes together/);
      assert.equal(transient, false);
    }
  });

  it('at an address that never ends are given up at the limit, in bytes and in time', async (t) => {
    const url = await serve(t, (request, response) => {
      response.write('begin');
      if (request.url === '/flood') {
        const more = (): void => {
          while (!response.destroyed && response.write('x'.repeat(64))) {}
        };
        response.on('drain', more);
        more();
      }
    });
    assert.match((await failure(readFiles(options(), [at(`${url}/flood`)])))[0], /bytes/);
    const [message, transient] = await failure(readFiles(options({ timeoutMs: 300 }), [at(`${url}/silent`)]));
    assert.match(message, /^the file of message\.parts\[1\] cannot be read: no answer within 300 ms/);
    assert.equal(transient, true);
  });

  it('are not read from internal addresses, not after a redirect either', async (t) => {
    const inside = await serve(t, (_request, response) => response.end('metadata'));
    const [message, transient] = await failure(readFiles(options({ allowInternal: [] }), [at(inside)]));
    assert.match(message, /"127\.0\.0\.1" has no public address/);
    assert.equal(transient, false);
    const outside = await serve(t, (_request, response) =>
      response.writeHead(302, { location: inside }).end(),
    );
    const allowed = { allowInternal: [new URL(outside).host] };
    assert.match((await failure(readFiles(options(allowed), [at(outside)])))[0], /has no public address/);
  });

  it('that cannot be read say why, whether another try may help, and nothing of the path', async (t) => {
    const url = await serve(t, (request, response) =>
      response.writeHead(Number(request.url?.slice(1, 4))).end('an explanation'),
    );
    for (const [status, mayHelp] of [
      [404, false],
      [403, false],
      [429, true],
      [503, true],
    ] as const) {
      const [message, transient] = await failure(readFiles(options(), [at(`${url}/${status}?key=secret`)]));
      assert.match(message, new RegExp(`answered with HTTP ${status}`));
      assert.doesNotMatch(message, /secret/);
      assert.equal(transient, mayHelp);
    }
    const closed = await failure(readFiles(options(), [at('http://127.0.0.1:1/x?key=secret')]));
    assert.match(closed[0], /cannot be reached/);
    assert.deepEqual([closed[1], closed[0].includes('secret')], [true, false]);
  });

  it('are given up with the reason of the signal', async (t) => {
    const asked = Promise.withResolvers<void>();
    const url = await serve(t, () => asked.resolve());
    const ending = new AbortController();
    const reading = readFiles(options({ signal: ending.signal }), [at(url)]);
    await asked.promise;
    ending.abort(new Error('canceled'));
    await assert.rejects(reading, /canceled/);
  });
});
