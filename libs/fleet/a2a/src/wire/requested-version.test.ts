import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, serve, TOKEN } from '../../testing/serve.ts';

test('a request names the version of A2A in its header, else in its query', async (t) => {
  const { rpcUrl } = await serve(t);
  const ask = async (query: string, version?: string): Promise<unknown> => {
    const response = await fetch(`${rpcUrl}${query}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${TOKEN}`,
        'content-type': 'application/json',
        ...(version === undefined ? {} : { 'a2a-version': version }),
      },
      body: '{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}',
    });
    return at(await response.json(), 'error', 'code');
  };
  const UNSUPPORTED = -32009;
  const UNKNOWN_METHOD = -32601;
  assert.equal(await ask('?A2A-Version=9.9'), UNSUPPORTED);
  assert.equal(await ask('?a2a-version=9.9'), UNSUPPORTED);
  assert.equal(await ask('?A2A-Version=0.3'), UNKNOWN_METHOD);
  assert.equal(await ask('?A2A-Version=1.0'), undefined);
  assert.equal(await ask('?A2A-Version=9.9', '1.0'), undefined);
  assert.equal(await ask('?A2A-Version=9.9', ' '), UNSUPPORTED);
});
