import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statelessRequest } from '../../testing/index.ts';
import { createMcpResponder } from './respond.ts';

const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'wait' } } as const;
const REQUESTS = {
  '2025-11-25': [CALL, { 'mcp-protocol-version': '2025-11-25' }],
  '2026-07-28': statelessRequest(1, 'tools/call', { name: 'wait' }, 'wait'),
} as const;

for (const [revision, [request, headers]] of Object.entries(REQUESTS))
  test(`the stream of a call carries comments while the call waits (${revision})`, async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const tools = [{ name: 'wait', inputSchema: { type: 'object' as const } }];
    const responder = createMcpResponder({ name: 'test', version: '1' }, tools);
    const done = Promise.withResolvers<void>();
    const response = await responder.stream(
      request,
      new Headers({
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...headers,
      }),
      {
        async run() {
          await done.promise;
          return { content: [{ type: 'text', text: 'done' }] };
        },
      },
    );
    const chunks = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    t.mock.timers.tick(15_000);
    assert.deepEqual(await chunks?.read(), { done: false, value: ': keepalive\n\n' });
    done.resolve();
    assert.match(String((await chunks?.read())?.value), /"text":"done"/);
    assert.equal((await chunks?.read())?.done, true);
  });
