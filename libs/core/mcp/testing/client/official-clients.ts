import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { Progress } from '@modelcontextprotocol/client';
import { connectMcp, type TestClientOptions } from './client.ts';

/** An official client, as far as tests use it. It checks every result of a tool against its schema. */
export interface OfficialClient {
  listTools(): Promise<readonly string[]>;
  callTool(name: string, input: JsonObject, options?: CallOptions): Promise<CallResult>;
  readResource(uri: string): Promise<unknown>;
}

interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onprogress?: (progress: Progress) => void;
}

interface CallResult {
  readonly structuredContent?: unknown;
}

/** Each of the official clients, in the revisions of the protocol that it can speak. */
export const OFFICIAL_CLIENTS = ['SDK 1', 'SDK 2', 'SDK 2 at 2026-07-28'] as const;

/** One of the official clients, connected to POST /mcp of a service. */
export async function connectOfficial(
  t: TestContext,
  kind: (typeof OFFICIAL_CLIENTS)[number],
  url: string,
  token: TestClientOptions['token'],
): Promise<OfficialClient> {
  if (kind === 'SDK 1') return connect1(t, url, token);
  const negotiation = kind === 'SDK 2' ? {} : { negotiation: 'auto' as const };
  const client = await connectMcp(t, url, { token, ...negotiation });
  assert.equal(client.getProtocolEra(), kind === 'SDK 2' ? 'legacy' : 'modern');
  return {
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    callTool: (name, input, options) => client.callTool({ name, arguments: input }, options),
    readResource: (uri) => client.readResource({ uri }),
  };
}

async function connect1(t: TestContext, url: string, token: string): Promise<OfficialClient> {
  // Loaded by the tests that use it only.
  const { Client } = await import('mcp-sdk-1/client/index.js');
  const { StreamableHTTPClientTransport } = await import('mcp-sdk-1/client/streamableHttp.js');
  const client = new Client({ name: 'test', version: '1.0.0' });
  t.after(() => client.close());
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
  await client.listTools();
  return {
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    async callTool(name, input, options) {
      const { structuredContent } = await client.callTool({ name, arguments: input }, undefined, options);
      return { structuredContent };
    },
    readResource: (uri) => client.readResource({ uri }),
  };
}
