import type { TestContext } from 'node:test';
import {
  Client,
  type ClientOptions,
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

export type { Client };

export interface TestClientOptions {
  readonly token: string;
  /** Sees every HTTP request of the client. */
  readonly fetch?: StreamableHTTPClientTransportOptions['fetch'];
  /** `auto` speaks the revision 2026-07-28 where the server does; without it the client speaks one of 2025. */
  readonly negotiation?: 'auto';
}

/** The official client, connected to POST /mcp of a service. It checks every result of a tool against its schema. */
export async function connectMcp(t: TestContext, url: string, o: TestClientOptions): Promise<Client> {
  const client = newClient(o);
  const requestInit = { headers: { authorization: `Bearer ${o.token}` } };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
      requestInit,
      ...(o.fetch && { fetch: o.fetch }),
    }),
  );
  t.after(() => client.close());
  await client.listTools();
  return client;
}

/** The official client, connected to a process that it starts. */
export async function connectStdio(
  t: TestContext,
  command: { readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> },
  o: Pick<TestClientOptions, 'negotiation'> = {},
): Promise<Client> {
  const client = newClient(o);
  t.after(() => client.close());
  const { args, env } = command;
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [...args], env: { ...env } }),
  );
  await client.listTools();
  return client;
}

function newClient({ negotiation: mode }: Pick<TestClientOptions, 'negotiation'>): Client {
  const options: ClientOptions = mode ? { versionNegotiation: { mode } } : {};
  return new Client({ name: 'test', version: '1.0.0' }, options);
}

/**
 * Calls a tool, and returns its structured content. Throws the text of an error result. `onprogress` gets every
 * notification of the client: the SDK's own handler drops one that comes in the same read as the result.
 */
export async function callTool(
  client: Client,
  name: string,
  input: Record<string, unknown> = {},
  options: Parameters<Client['callTool']>[1] = {},
  // biome-ignore lint/suspicious/noExplicitAny: the output of a tool under test has no type of its own
): Promise<any> {
  const { onprogress } = options;
  if (onprogress) client.setNotificationHandler('notifications/progress', ({ params }) => onprogress(params));
  const result = await client.callTool({ name, arguments: input }, options);
  if (result.isError) throw new Error(JSON.stringify(result.content));
  return result.structuredContent;
}
