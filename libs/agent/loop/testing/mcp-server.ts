/**
 * An MCP server for tests, as a child process: `node mcp-server.ts <tools as JSON>`. Its tools return their input, or the
 * environment (`environment`), an error (`fail`), or nothing (`hang`). With `null` it does not answer `tools/list`.
 */
import { createInterface } from 'node:readline';

interface Described {
  readonly name: string;
}

interface Request {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly name?: string; readonly arguments?: object; readonly _meta?: object };
}

const tools = JSON.parse(process.argv[2] ?? '[]') as readonly Described[] | null;

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line) as Request;
  const result = id === undefined ? undefined : answer(method, params);
  if (result) process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
});

function answer(method: string | undefined, params: Request['params']): object | undefined {
  if (method === 'initialize') {
    const serverInfo = { name: 'fixture', version: '1.0.0' };
    return { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo };
  }
  if (method === 'ping') return {};
  if (method === 'tools/list') {
    return tools ? { tools: tools.map((tool) => ({ inputSchema: { type: 'object' }, ...tool })) } : undefined;
  }
  if (method !== 'tools/call' || params?.name === 'hang') return undefined;
  const { name, arguments: input, _meta: meta } = params ?? {};
  const said = name === 'environment' ? process.env : { name, input, meta };
  return { content: [{ type: 'text', text: JSON.stringify(said) }], isError: name === 'fail' };
}
