import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import type { OpenRouterProviderSettings } from '@openrouter/ai-sdk-provider';
import { wrapLanguageModel } from 'ai';

/**
 * A model by OpenRouter's own package, which gives the `reasoning_details` of an answer back with the next call
 * (https://openrouter.ai/docs/guides/best-practices/reasoning-tokens): Gemini 3 refuses calls without them.
 */
export async function openRouterModel(
  name: string,
  settings: Pick<OpenRouterProviderSettings, 'baseURL' | 'apiKey' | 'headers'>,
  send: typeof fetch,
): Promise<LanguageModelV4> {
  const { createOpenRouter } = await import('@openrouter/ai-sdk-provider');
  return wrapLanguageModel({
    model: createOpenRouter({ ...settings, fetch: send, compatibility: 'strict' }).chat(name),
    middleware: {
      specificationVersion: 'v4',
      transformParams: async ({ params }) => withEffort(params),
      async wrapStream({ doStream }) {
        const { stream, ...rest } = await doStream();
        return { ...rest, stream: stream.pipeThrough(asReceived()) };
      },
    },
  });
}

/** The package sends no `reasoning` of a call. */
function withEffort({ reasoning, ...params }: LanguageModelV4CallOptions): LanguageModelV4CallOptions {
  if (reasoning === undefined || reasoning === 'provider-default') return params;
  const { openrouter, ...others } = params.providerOptions ?? {};
  return {
    ...params,
    providerOptions: { ...others, openrouter: { ...openrouter, reasoning_effort: reasoning } },
  };
}

/**
 * Undoes guesses of the package: that arguments are whole as soon as they are JSON, that those that are no JSON are `{}`,
 * and that an answer with calls and without a finish reason ends by calls.
 */
function asReceived(): TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart> {
  const inputs = new Map<string, string>();
  const calls: Extract<LanguageModelV4StreamPart, { type: 'tool-call' }>[] = [];
  return new TransformStream({
    transform(part, controller) {
      if (part.type === 'tool-input-delta') inputs.set(part.id, (inputs.get(part.id) ?? '') + part.delta);
      if (part.type === 'tool-call') {
        calls.push(part);
        return;
      }
      if (part.type !== 'finish') {
        controller.enqueue(part);
        return;
      }
      for (const call of calls)
        controller.enqueue({ ...call, input: inputs.get(call.toolCallId) ?? call.input });
      const isEnd = part.finishReason.raw !== undefined;
      controller.enqueue(isEnd ? part : { ...part, finishReason: { unified: 'other', raw: undefined } });
    },
  });
}
