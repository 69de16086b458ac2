import { type AdmittedTask, inSpan, type Tracing } from '@hermes-fleet/protocol';
import type { ModelCallResult } from '../model/call/model-call.ts';

/** What the spans of a run belong to. */
export interface SpanParts {
  readonly task: AdmittedTask;
  readonly tracing?: Tracing | undefined;
}

/** Does a call of the model in a span (GenAI semantic conventions of OpenTelemetry): names and tokens, no content. */
export function inModelSpan<T extends Pick<ModelCallResult, 'usage' | 'finishReason'>>(
  { task, tracing }: SpanParts,
  model: string,
  call: () => Promise<T>,
): Promise<T> {
  if (tracing === undefined) return call();
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
      'gen_ai.response.model': usage.model,
      'gen_ai.response.finish_reasons': [result.finishReason],
      'gen_ai.usage.input_tokens': usage.inputTokens,
      'gen_ai.usage.output_tokens': usage.outputTokens,
    });
    return result;
  });
}

/** Runs a tool in a span, of which everything that the tool calls with this task is a part. */
export function inToolSpan<T extends { readonly ok: boolean }>(
  { task, tracing }: SpanParts,
  tool: string,
  run: (task: AdmittedTask) => Promise<T>,
): Promise<T> {
  if (tracing === undefined) return run(task);
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
