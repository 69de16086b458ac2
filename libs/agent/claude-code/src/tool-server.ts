import type { AgentTool } from '@hermes-fleet/loop';
import type { JsonObject } from '@hermes-fleet/protocol';
import { z } from 'zod';
import type { ToolUse } from './sdk-messages.ts';
import type { InProcessServer, ServerTransport } from './sdk-types.ts';

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

export interface ToolServerOptions {
  readonly name: string;
  readonly tools: readonly Pick<AgentTool, 'name' | 'description' | 'parameters'>[];
  /** Resolves with the text for the model. The model does not see the reason of a rejection. The id is that of its tool_use. */
  call(call: ToolUse): Promise<{ readonly ok: boolean; readonly text: string }>;
}

const MAX_RESULT_CHARS = 400_000;
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const INTERNAL = -32603;

/** An in-process MCP server that gives Claude Code the agent's tools. It needs neither a listener nor a process. */
export function toolServer(options: ToolServerOptions): InProcessServer {
  /** Undefined for a method that there is not. */
  async function answer(method: string, params: JsonObject): Promise<JsonObject | undefined> {
    switch (method) {
      case 'initialize': {
        const { protocolVersion } = Initialize.parse(params);
        const serverInfo = { name: options.name, version: '1' };
        return { protocolVersion, capabilities: { tools: {} }, serverInfo };
      }
      case 'ping':
        return {};
      case 'tools/list':
        return {
          tools: options.tools.map(({ name, description, parameters }) => ({
            name,
            description,
            inputSchema: parameters,
            // The guards have already limited the output.
            _meta: { 'anthropic/maxResultSizeChars': MAX_RESULT_CHARS },
          })),
        };
      case 'tools/call': {
        const { name, arguments: input, _meta } = Call.parse(params);
        const { ok, text } = await options.call({ id: _meta['claudecode/toolUseId'], name, input });
        return { content: [{ type: 'text', text }], isError: !ok };
      }
      default:
        return undefined;
    }
  }

  async function handle(message: unknown, transport: ServerTransport): Promise<void> {
    const request = Request.safeParse(message);
    if (!request.success || request.data.id === undefined) return;
    const { id, method, params } = request.data;
    const unknown = { code: METHOD_NOT_FOUND, message: `there is no method ${method}` };
    const reply = await answer(method, z.record(z.string(), z.json()).parse(params)).then(
      (result): JsonObject => (result ? { result } : { error: unknown }),
      (error: unknown) => ({ error: errorOf(error) }),
    );
    // A closed connection needs no answer: its session has ended.
    await transport.send({ jsonrpc: '2.0', id, ...reply }).catch(() => {});
  }

  return {
    type: 'sdk',
    name: options.name,
    instance: {
      async connect(transport) {
        transport.onmessage = (message) => void handle(message, transport);
        await transport.start();
      },
      async close() {},
    },
  };
}

function errorOf(error: unknown): JsonObject {
  if (error instanceof z.ZodError) return { code: INVALID_PARAMS, message: 'the request cannot be read' };
  return { code: INTERNAL, message: 'the tool failed unexpectedly; try another way' };
}
