import { type Dialect, halves, INPUT, OUTPUT, objects, type Step, sse, USAGE, WAIT_S } from './dialect.ts';

/** https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent */
function answer({ turn, thinking, call, text }: Step): string {
  const chunk = (parts: object[], rest = {}): object => ({
    candidates: [{ index: 0, content: { role: 'model', parts }, ...rest }],
    usageMetadata: {
      promptTokenCount: INPUT,
      cachedContentTokenCount: USAGE.cached,
      candidatesTokenCount: USAGE.visible,
      thoughtsTokenCount: USAGE.thought,
      totalTokenCount: INPUT + OUTPUT,
    },
    modelVersion: 'm',
    responseId: `r-${turn}`,
  });
  const answered =
    call === undefined
      ? halves(text ?? '').map((part) => chunk([{ text: part }]))
      : [chunk([{ functionCall: call, thoughtSignature: `signed-${turn}` }])];
  return sse([
    ...halves(thinking).map((part) => chunk([{ text: part, thought: true }])),
    ...answered,
    chunk([{ text: '' }], { finishReason: 'STOP' }),
  ]);
}

export const google: Dialect = {
  provider: 'Google',
  package: '@ai-sdk/google',
  config: {
    model: 'google/gemini-3-pro-preview',
    provider: { package: '@ai-sdk/google' },
    api_key_env: 'MODEL_KEY',
  },
  base: '/v1beta',
  path: '/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse',
  keyHeader: 'x-goog-api-key',
  answer,
  refusal: {
    body: {
      error: {
        code: 429,
        message: 'You exceeded your current quota',
        status: 'RESOURCE_EXHAUSTED',
        details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${WAIT_S}s` }],
      },
    },
  },
  saysWait: true,
  countsThinking: true,
  // Calls have no ids here: a result names its function.
  ids: ({ contents }) => {
    const parts = objects(contents).flatMap(({ parts }) => objects(parts));
    return {
      calls: parts.flatMap(({ functionCall: call }) => objects([call ?? null]).map(({ name }) => name)),
      results: parts.flatMap(({ functionResponse: one }) => objects([one ?? null]).map(({ name }) => name)),
    };
  },
  returned: ({ contents }) =>
    objects(objects(contents).find(({ role }) => role === 'model')?.parts).find(
      (part) => 'functionCall' in part,
    )?.thoughtSignature,
  thought: 'signed-1',
};
