import assert from 'node:assert/strict';
import { test } from 'node:test';
import { REQUEST, scriptedProxy, USAGE } from '../testing/metered-proxy.ts';

test('a request that is nested too deep is the fault of its sender, and not of the provider', async (t) => {
  const { server, proxy } = await scriptedProxy(t, () => ({ text: 'Hello.', usage: USAGE }));
  const nested = (levels: number): string =>
    JSON.stringify({ ...REQUEST, metadata: 0 }).replace(
      '"metadata":0',
      `"metadata":${'['.repeat(levels)}${']'.repeat(levels)}`,
    );
  const send = (path: string, levels: number) =>
    fetch(`${proxy.url}${path}`, {
      method: 'POST',
      headers: { 'x-api-key': proxy.key },
      body: nested(levels),
    });
  for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
    const answer = await send(path, 200_000);
    assert.equal(answer.status, 400);
    assert.match(
      await answer.text(),
      /"invalid_request_error","message":"the request is nested more than 500/,
    );
  }
  assert.deepEqual([proxy.failure(), server.requests.length], [undefined, 0]);
  assert.equal((await send('/v1/messages', 499)).status, 200);
});
