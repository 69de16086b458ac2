import { type AdmittedTask, inSpan, type Tracing } from '@hermes-fleet/protocol/ports';
import type { Opening, Workspace, Workspaces } from '@hermes-fleet/workspace';
import type { ModelCallResult } from '../model/call/model-call.ts';

interface SpanParts {
  readonly task: AdmittedTask;
  readonly tracing?: Tracing | undefined;
}

export interface ModelSpanParts extends Pick<SpanParts, 'tracing'> {
  readonly task: Pick<AdmittedTask, 'traceparent'>;
}

interface ModelCallFigures extends Pick<ModelCallResult, 'usage'> {
  readonly finishReason: string | undefined;
  /** The code of an error that the call ended with, where it does not throw one. */
  readonly failure?: string | undefined;
}

/** Does a call of the model in a span (GenAI semantic conventions of OpenTelemetry): names and tokens, no content. */
export function inModelSpan<T extends ModelCallFigures>(
  { task, tracing }: ModelSpanParts,
  model: string,
  call: () => Promise<T>,
): Promise<T> {
  const start = {
    kind: 'client',
    parent: task.traceparent,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': model.split('/')[0],
      'gen_ai.request.model': model,
    },
  } as const;
  return inSpan(tracing, `chat ${model}`, start, async (span) => {
    const result = await call();
    const { usage } = result;
    span?.set({
      'gen_ai.response.model': usage.model ?? model,
      'gen_ai.response.finish_reasons': result.finishReason === undefined ? [] : [result.finishReason],
      'gen_ai.usage.input_tokens': usage.inputTokens,
      'gen_ai.usage.output_tokens': usage.outputTokens,
    });
    if (result.failure !== undefined) span?.end(result.failure);
    return result;
  });
}

/** Runs a tool in a span, of which everything that the tool calls with this task is a part. */
export function inToolSpan<T extends { readonly ok: boolean }>(
  { task, tracing }: SpanParts,
  tool: string,
  run: (task: AdmittedTask) => Promise<T>,
): Promise<T> {
  const start = {
    parent: task.traceparent,
    attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': tool },
  };
  return inSpan(tracing, `execute_tool ${tool}`, start, async (span) => {
    const result = await run(span ? { ...task, traceparent: span.traceparent } : task);
    span?.set({ 'hermes.tool.ok': result.ok });
    return result;
  });
}

/** Calls a tool of an MCP server in a span (semantic conventions of OpenTelemetry for MCP). */
export function inMcpSpan<T extends { readonly isError: boolean }>(
  { task, tracing }: SpanParts,
  server: string,
  tool: string,
  call: (traceparent: string | undefined) => Promise<T>,
): Promise<T> {
  const start = {
    kind: 'client',
    parent: task.traceparent,
    attributes: {
      'mcp.method.name': 'tools/call',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': tool,
      'hermes.mcp.server': server,
    },
  } as const;
  return inSpan(tracing, `tools/call ${tool}`, start, async (span) => {
    const result = await call(span?.traceparent ?? task.traceparent);
    if (result.isError) span?.end('tool_error');
    return result;
  });
}

/** Opens the tree of a task's context. To open it, to begin in it and to keep the work are spans. */
export async function openTraced(
  { task, tracing }: SpanParts,
  workspaces: Pick<Workspaces, 'openWorkspace'>,
  opening: Opening,
): Promise<Workspace> {
  const start = { parent: task.traceparent, attributes: { 'hermes.task.id': task.id } };
  const traced = <T>(name: string, work: () => Promise<T>): Promise<T> => inSpan(tracing, name, start, work);
  const workspace = await traced('git open', () => workspaces.openWorkspace(task.contextId, opening));
  return {
    ...workspace,
    begin: (write) => traced('git begin', () => workspace.begin(write)),
    save: () => traced('git save', () => workspace.save()),
    commit: (message, options) => traced('git commit', () => workspace.commit(message, options)),
    leave: (message) => traced('git commit', () => workspace.leave(message)),
  };
}
