import type { JsonObject } from '@hermes-fleet/protocol';
import { z } from 'zod';
import type { InProcessServer, ServerTransport } from './query-options.ts';

const Request = z.looseObject({
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string(),
  params: z.looseObject({}).default({}),
});

const Initialize = z.looseObject({ protocolVersion: z.string() });
const Call = z.looseObject({
  name: z.string(),
  arguments: z.unknown().default({}),
  _meta: z.looseObject({ 'claudecode/toolUseId': z.string() }),
});

/** How a tool is shown to Claude Code. */
export interface ShownTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
}

/** One call, as Claude Code makes it. */
export interface ServedCall {
  /** The id of the model's call. */
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
}

export interface ToolServerOptions {
  readonly name: string;
  readonly tools: readonly ShownTool[];
  /** Resolves with what the model is told. What it rejects with is not told. */
  call(call: ServedCall): Promise<{ readonly ok: boolean; readonly text: string }>;
}

const MAX_RESULT_CHARS = 400_000;
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const INTERNAL = -32603;

/** An MCP server inside this process, over which Claude Code has our own tools: no listener, no second process. */
export function toolServer(o: ToolServerOptions): InProcessServer {
  async function answer(method: string, params: JsonObject): Promise<JsonObject> {
    switch (method) {
      case 'initialize': {
        const { protocolVersion } = Initialize.parse(params);
        return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: o.name, version: '1' } };
      }
      case 'ping':
        return {};
      case 'tools/list':
        return {
          tools: o.tools.map(({ name, description, parameters }) => ({
            name,
            description,
            inputSchema: parameters,
            // Our own guards have bounded what comes from it.
            _meta: { 'anthropic/maxResultSizeChars': MAX_RESULT_CHARS },
          })),
        };
      case 'tools/call': {
        const { name, arguments: input, _meta } = Call.parse(params);
        const { ok, text } = await o.call({ id: _meta['claudecode/toolUseId'], tool: name, input });
        return { content: [{ type: 'text', text }], isError: !ok };
      }
      default:
        throw new RpcError(METHOD_NOT_FOUND, `there is no method ${method}`);
    }
  }

  async function take(message: unknown, transport: ServerTransport): Promise<void> {
    const request = Request.safeParse(message);
    if (!request.success || request.data.id === undefined) return;
    const { id, method, params } = request.data;
    const reply = await answer(method, z.record(z.string(), z.json()).parse(params)).then(
      (result) => ({ result }),
      (error: unknown) => ({ error: errorOf(error) }),
    );
    // A connection that has gone needs no answer: the session that asked has ended.
    await transport.send({ jsonrpc: '2.0', id, ...reply }).catch(() => {});
  }

  return {
    type: 'sdk',
    name: o.name,
    instance: {
      async connect(transport) {
        transport.onmessage = (message) => void take(message, transport);
        await transport.start();
      },
      async close() {},
    },
  };
}

class RpcError extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

function errorOf(error: unknown): JsonObject {
  if (error instanceof RpcError) return { code: error.code, message: error.message };
  if (error instanceof z.ZodError) return { code: INVALID_PARAMS, message: 'the request cannot be read' };
  return { code: INTERNAL, message: 'the tool failed for a reason of its own; try another way' };
}
