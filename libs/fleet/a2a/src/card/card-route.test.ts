import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { at, serve } from '../../testing/serve.ts';

const PATH = '/.well-known/agent-card.json';

test('the card is public, cacheable, and revalidated by its ETag', async (t) => {
  const { url, rpcUrl } = await serve(t);
  const response = await fetch(`${url}${PATH}`);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('cache-control'), 'public, max-age=60');
  const card: unknown = await response.json();
  assert.equal(at(card, 'supportedInterfaces', 0, 'url'), rpcUrl);
  assert.equal(at(card, 'securitySchemes', 'bearer', 'httpAuthSecurityScheme', 'scheme'), 'Bearer');
  const etag = response.headers.get('etag') ?? '';
  for (const header of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
    const again = await fetch(`${url}${PATH}`, { headers: { 'if-none-match': header } });
    assert.deepEqual([again.status, await again.text(), again.headers.get('etag')], [304, '', etag]);
  }
  const changed = await fetch(`${url}${PATH}`, { headers: { 'if-none-match': '"old"' } });
  assert.equal(changed.status, 200);
  await changed.body?.cancel();
});

test('the card and its ETag depend on the requested host', async (t) => {
  const { url } = await serve(t);
  const ask = (host: string): Promise<{ etag: string | undefined; body: unknown }> =>
    new Promise((resolve, reject) => {
      const call = request(`${url}${PATH}`, { headers: { host } }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => resolve({ etag: response.headers.etag, body: JSON.parse(text) }));
      });
      call.on('error', reject).end();
    });
  const [one, two] = [await ask('neo:9220'), await ask('localhost:1')];
  assert.equal(at(one.body, 'supportedInterfaces', 0, 'url'), 'http://neo:9220/jsonrpc');
  assert.equal(at(two.body, 'supportedInterfaces', 0, 'url'), 'http://localhost:1/jsonrpc');
  assert.notEqual(one.etag, two.etag);
});
