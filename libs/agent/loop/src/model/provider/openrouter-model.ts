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
 * Undoes two guesses of the package: `{}` for arguments that are no JSON, and an end by calls where the answer has calls
 * and no finish reason.
 */
function asReceived(): TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart> {
  const inputs = new Map<string, string>();
  return new TransformStream({
    transform(part, controller) {
      if (part.type === 'tool-input-delta') inputs.set(part.id, (inputs.get(part.id) ?? '') + part.delta);
      if (part.type === 'tool-call')
        controller.enqueue({ ...part, input: inputs.get(part.toolCallId) ?? part.input });
      else if (part.type === 'finish' && part.finishReason.raw === undefined)
        controller.enqueue({ ...part, finishReason: { unified: 'other', raw: undefined } });
      else controller.enqueue(part);
    },
  });
}
