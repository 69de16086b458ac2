import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import { codeOf, thrownBy } from '../testing/fetching.ts';
import { startServer } from '../testing/server.ts';
import { createClient } from './client.ts';
import { RedirectError } from './redirect.ts';

const at = (port: number, path = '/'): string => `http://127.0.0.1:${port}${path}`;

describe('a client of the policy configured', () => {
  /** Two origins; the first redirects to the second. */
  async function redirecting(t: TestContext, status: number) {
    const second = await startServer(t, (_, response) => response.end('the wrong one'));
    const to = `http://user:pass@127.0.0.1:${second.port}/there?key=secret-2#x`;
    const first = await startServer(t, (_, response) =>
      response.writeHead(status, { location: to }).end('moved'),
    );
    return { first, second };
  }

  for (const status of [301, 302, 303, 307, 308])
    it(`follows no redirect with ${status}: the error names both addresses and no secret`, async (t) => {
      const { first, second } = await redirecting(t, status);
      const send = createClient('configured');
      const init = { method: 'POST', headers: { 'x-api-key': 'secret-3' }, body: 'secret-4' };
      for (const more of [{}, { redirect: 'follow' as const }]) {
        const error = await thrownBy(send(at(first.port, '/here?key=secret-1'), { ...init, ...more }));
        assert.ok(error instanceof RedirectError);
        assert.equal(
          error.message,
          `${at(first.port, '/here')} redirects to ${at(second.port, '/there')} (HTTP ${status}), and redirects are not followed`,
        );
      }
      assert.deepEqual([first.requests.length, second.requests.length], [2, 0]);
    });

  it('returns a redirect where its user asks for it, and follows none', async (t) => {
    const { first, second } = await redirecting(t, 307);
    const returning = createClient('configured', { redirects: 'returned' });
    const manual = await createClient('configured')(at(first.port), { redirect: 'manual' });
    for (const answer of [await returning(at(first.port)), manual]) {
      assert.equal(answer.status, 307);
      await answer.body?.cancel();
    }
    assert.equal(second.requests.length, 0);
  });

  it('names a redirect to a long address, or to none, in few words', async (t) => {
    for (const [location, words] of [
      [`http://a.test/${'x'.repeat(9_000)}`, /redirects to http:\/\/a\.test\/x{180,200}… \(HTTP 302\)/],
      ['http://', /redirects to what is no address \(HTTP 302\)/],
    ] as const) {
      const { port } = await startServer(t, (_, response) => response.writeHead(302, { location }).end());
      assert.match((await thrownBy(createClient('configured')(at(port)))).message, words);
    }
  });

  it('sends what fetch sends: method, headers, and any body', async (t) => {
    const seen: [IncomingMessage['method'], string | undefined, string][] = [];
    const { port } = await startServer(t, async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      seen.push([request.method, request.headers['content-type'], body]);
      response.writeHead(200, { 'x-two': ['a', 'b'] }).end('ok');
    });
    const send = createClient('configured');
    const json = { 'Content-Type': 'application/json' };
    const first = await send(new URL(at(port)), { method: 'POST', headers: json, body: '{"a":"ü"}' });
    assert.deepEqual([await first.text(), first.headers.get('x-two')], ['ok', 'a, b']);
    const form = new URLSearchParams({ a: '1' });
    await (
      await send(at(port), { method: 'PUT', headers: new Headers(json), body: Buffer.from('{}') })
    ).text();
    await (await send(at(port), { method: 'POST', body: form })).text();
    await (await send(new Request(at(port), { method: 'POST', body: 'x' }))).text();
    await (await send(at(port), { method: 'POST', body: new Blob(['b'], { type: 'text/x' }) })).text();
    await (await send(at(port))).text();
    assert.deepEqual(seen, [
      ['POST', 'application/json', '{"a":"ü"}'],
      ['PUT', 'application/json', '{}'],
      ['POST', 'application/x-www-form-urlencoded;charset=UTF-8', 'a=1'],
      ['POST', 'text/plain;charset=UTF-8', 'x'],
      ['POST', 'text/x', 'b'],
      ['GET', undefined, ''],
    ]);
  });

  it('keeps connections for the next request, also after an answer without a body', async (t) => {
    const sockets = new Set<unknown>();
    const { port } = await startServer(t, (request, response) => {
      sockets.add(request.socket);
      response.writeHead(sockets.size > 0 && request.url === '/none' ? 204 : 200).end();
    });
    const send = createClient('configured');
    for (const path of ['/', '/none', '/', '/none']) {
      await (await send(at(port, path))).text();
      // An answer without a body has ended a moment after its headers.
      await new Promise(setImmediate);
    }
    assert.equal(sockets.size, 1);
  });

  const silent: [name: string, parts: readonly string[]][] = [
    ['before the answer', []],
    ['within the answer', ['half']],
  ];
  for (const [name, parts] of silent)
    it(`ends when no byte arrives ${name}, and not while some do`, async (t) => {
      const { port } = await startServer(t, (request, response) => {
        if (request.url !== '/slow') return void parts.map((part) => response.write(part));
        let left = 5;
        const timer = setInterval(() => {
          response.write('x');
          left -= 1;
          if (left === 0) response.end(() => clearInterval(timer));
        }, 100);
      });
      const send = createClient('configured', { silenceMs: 300 });
      const read = async (path: string): Promise<string> => (await send(at(port, path))).text();
      assert.equal(await read('/slow'), 'xxxxx');
      const error = await thrownBy(read('/'));
      assert.equal(codeOf(error), 'ETIMEDOUT');
      assert.match(String((error.cause as Error).message), /no byte arrived for 0\.3 s/);
    });

  it('ends when a connection does not open in time', async (t) => {
    const server = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const { port } = server.address() as { port: number };
    const opening = createClient('configured', { connectMs: 200 })(`https://127.0.0.1:${port}/`);
    const error = await thrownBy(opening);
    assert.equal(String((error.cause as Error).message), 'no connection within 0.2 s');
  });

  it('ends with the reason of the signal, before and within the answer', async (t) => {
    const { port } = await startServer(t, (request, response) => {
      if (request.url === '/half') response.write('half');
    });
    const send = createClient('configured');
    for (const path of ['/', '/half']) {
      const controller = new AbortController();
      const reason = new Error('enough');
      const work = send(at(port, path), { signal: controller.signal }).then((answer) => {
        setImmediate(() => controller.abort(reason));
        return answer.text();
      });
      if (path === '/') setTimeout(() => controller.abort(reason), 50);
      assert.equal(await thrownBy(work), reason);
      assert.equal(await thrownBy(send(at(port), { signal: controller.signal })), reason);
    }
  });

  it('may be ended when the answer is whole and was not read, and waits for a slow reader', async (t) => {
    const { port } = await startServer(t, (request, response) =>
      response.end('x'.repeat(request.url === '/long' ? 1_000_000 : 10)),
    );
    const send = createClient('configured', { silenceMs: 500 });
    const controller = new AbortController();
    const reason = new Error('enough');
    const left = await send(at(port), { signal: controller.signal });
    const slow = await send(at(port, '/long'));
    await new Promise((resolve) => setTimeout(resolve, 700));
    assert.equal((await slow.text()).length, 1_000_000);
    const reading = left.text();
    controller.abort(reason);
    assert.equal(await thrownBy(reading), reason);
    // What nobody reads is closed without an error that nobody catches.
    const unread = new AbortController();
    await send(at(port), { signal: unread.signal });
    await new Promise((resolve) => setTimeout(resolve, 50));
    unread.abort(reason);
    await new Promise((resolve) => setTimeout(resolve, 50));
  });

  it('sends the length of every body, so that a server finds the next request', async (t) => {
    const seen: string[] = [];
    const { port } = await startServer(t, async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      seen.push(`${request.method} ${request.headers['content-length']} ${body}`);
      response.end();
    });
    const send = createClient('configured');
    for (const body of ['{"a":"ü"}', Buffer.from('{}'), new Blob(['GET /x']), '', null])
      await (await send(at(port), { method: 'delete', body })).text();
    const sent = ['10 {"a":"ü"}', '2 {}', '6 GET /x', '0 ', 'undefined '];
    assert.deepEqual(
      seen,
      sent.map((each) => `DELETE ${each}`),
    );
  });

  it('sends nothing that would leave open where a request ends, and such a fault is not one of the network', async (t) => {
    const { port, requests } = await startServer(t, (_, response) => response.end());
    const send = createClient('configured');
    const faulty: [init: RequestInit, words: RegExp][] = [
      [{ body: 'x' }, /a request with the method GET has no body/],
      [{ method: 'head', body: Buffer.from('x') }, /a request with the method HEAD has no body/],
      [{ method: 'CONNECT' }, /CONNECT is not requested/],
      [{ method: 'trace' }, /TRACE is not requested/],
      [{ method: 'GE T' }, /Method must be a valid HTTP token/],
      [{ headers: { 'x-a': 'a\u0001secret' } }, /Invalid character in header content \["x-a"\]/],
    ];
    for (const name of ['Content-Length', 'Transfer-Encoding', 'Host', 'Connection', 'Upgrade', 'Expect'])
      faulty.push([
        { method: 'POST', headers: { [name]: '1' }, body: 'x' },
        new RegExp(`the header ${name.toLowerCase()} is set by the client`),
      ]);
    for (const [init, words] of faulty) {
      const error = await thrownBy(send(at(port), init));
      assert.ok(error instanceof TypeError);
      assert.match(error.message, words);
    }
    assert.equal(requests.length, 0);
  });

  it('tells the status text and the address of an answer, which users put into errors', async (t) => {
    const server = createServer((socket) =>
      socket.end('HTTP/1.1 404 No\u0001t\tFound\r\ncontent-length: 0\r\n\r\n'),
    ).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const { port } = server.address() as { port: number };
    const answer = await createClient('configured')(at(port, '/a?b=c#d'));
    assert.deepEqual([answer.statusText, answer.url], ['Not\tFound', at(port, '/a?b=c')]);
  });

  it('bounds a body where it has a limit, also what it decompresses to', async (t) => {
    const { port } = await startServer(t, (request, response) => {
      const large = Buffer.alloc(50_000);
      if (request.url === '/zip')
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(large));
      else response.end(large);
    });
    const send = createClient('configured', { maxBytes: 10_000 });
    for (const path of ['/', '/zip']) {
      const answer = await send(at(port, path));
      assert.match((await thrownBy(answer.text())).message, /answered with more than 10000 bytes/);
    }
    const free = await createClient('configured')(at(port, '/zip'));
    assert.equal((await free.arrayBuffer()).byteLength, 50_000);
  });

  it('tells what the network did in the form of fetch', async (t) => {
    const gone = createServer();
    gone.listen(0, '127.0.0.1');
    await once(gone, 'listening');
    const { port } = gone.address() as { port: number };
    gone.close();
    const refused = await thrownBy(createClient('configured')(at(port)));
    assert.deepEqual(
      [refused.name, refused.message, codeOf(refused)],
      ['TypeError', 'fetch failed', 'ECONNREFUSED'],
    );
    const cut = await startServer(t, (request, response) => {
      if (request.url === '/half') response.write('half', () => response.destroy());
      else response.destroy();
    });
    const send = createClient('configured');
    assert.equal(codeOf(await thrownBy(send(at(cut.port)))), 'ECONNRESET');
    const half = await thrownBy(send(at(cut.port, '/half')).then((answer) => answer.text()));
    assert.equal(codeOf(half), 'ECONNRESET');
  });

  it('requests only http and https, and no address with a password, which no error quotes', async () => {
    const send = createClient('configured');
    assert.match((await thrownBy(send('file:///etc/passwd'))).message, /only http and https/);
    const error = await thrownBy(send('http://me:secret@127.0.0.1:9/'));
    assert.match(error.message, /holds credentials/);
    assert.doesNotMatch(error.message, /secret/);
  });
});
