import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

/** A server on version 2 of the official SDK, with one tool. */
export function greeter2(): McpServer {
  const server = new McpServer({ name: 'greeter', version: '1.0.0' });
  server.registerTool('greet', { inputSchema: z.object({ name: z.string() }) }, ({ name }) => ({
    content: [{ type: 'text', text: `hello ${name}` }],
  }));
  return server;
}
