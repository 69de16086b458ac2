import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { ToolUse } from './sdk-messages.ts';
import type { ServerTransport } from './sdk-types.ts';
import { toolServer } from './tool-server.ts';

const look = { name: 'look', description: 'Look.', parameters: { type: 'object', properties: {} } };

async function connected(call: (call: ToolUse) => Promise<{ ok: boolean; text: string }>) {
  const waiting = new Map<unknown, (message: JsonObject) => void>();
  const transport: ServerTransport = {
    start: async () => {},
    async send(message) {
      waiting.get(message.id)?.(message);
    },
  };
  await toolServer({ name: 'fleet', tools: [look], call }).instance.connect(transport);
  let last = 0;
  return {
    tell: (message: unknown) => transport.onmessage?.(message),
    ask(method: string, params?: JsonObject): Promise<JsonObject> {
      last += 1;
      const id = last;
      const { promise, resolve } = Promise.withResolvers<JsonObject>();
      waiting.set(id, resolve);
      transport.onmessage?.({ jsonrpc: '2.0', id, method, ...(params && { params }) });
      return promise;
    },
  };
}

test('it answers initialize, tools/list, tools/call and ping', async () => {
  const calls: ToolUse[] = [];
  const server = await connected(async (call) => {
    calls.push(call);
    return { ok: call.input !== 'bad', text: `looked at ${JSON.stringify(call.input)}` };
  });
  const { result: hello } = await server.ask('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
  });
  assert.ok(isJsonObject(hello));
  assert.equal(hello.protocolVersion, '2025-11-25');
  const { result: list } = await server.ask('tools/list');
  assert.match(JSON.stringify(list), /"name":"look","description":"Look\.","inputSchema":\{"type":"object"/);
  const _meta = { 'claudecode/toolUseId': 'toolu_1' };
  const { result } = await server.ask('tools/call', { name: 'look', arguments: { at: 1 }, _meta });
  assert.deepEqual(result, { content: [{ type: 'text', text: 'looked at {"at":1}' }], isError: false });
  const { result: failed } = await server.ask('tools/call', { name: 'look', arguments: 'bad', _meta });
  assert.ok(isJsonObject(failed) && failed.isError === true);
  assert.deepEqual(calls[0], { id: 'toolu_1', name: 'look', input: { at: 1 } });
  assert.deepEqual((await server.ask('ping')).result, {});
});

test('unknown methods and invalid requests are errors, and an unexpected error does not reveal its reason', async () => {
  const server = await connected(async () => assert.fail('a secret reason'));
  assert.match(JSON.stringify((await server.ask('resources/list')).error), /-32601/);
  assert.match(JSON.stringify((await server.ask('tools/call', { name: 'look' })).error), /-32602/);
  const _meta = { 'claudecode/toolUseId': 'toolu_1' };
  const { error } = await server.ask('tools/call', { name: 'look', _meta });
  assert.doesNotMatch(JSON.stringify(error), /secret/);
  server.tell({ jsonrpc: '2.0', method: 'notifications/initialized' });
  server.tell('garbage');
  assert.deepEqual((await server.ask('ping')).result, {});
});
