import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { createMcpResponder } from './respond.ts';

const REVISIONS: readonly [name: string, headers: Record<string, string>, meta: JsonObject][] = [
  ['2025-11-25', { 'mcp-protocol-version': '2025-11-25' }, {}],
  [
    '2026-07-28',
    { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'wait' },
    {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  ],
];

for (const [revision, headers, meta] of REVISIONS)
  test(`the stream of a call carries comments while the call waits (${revision})`, async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const tools = [{ name: 'wait', inputSchema: { type: 'object' as const } }];
    const responder = createMcpResponder({ name: 'test', version: '1' }, tools);
    const done = Promise.withResolvers<void>();
    const response = await responder.stream(
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'wait', _meta: meta } },
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
