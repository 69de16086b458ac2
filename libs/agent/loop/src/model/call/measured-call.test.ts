import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { systemClock } from '@hermes-fleet/protocol/ports';
import type { MeasuredCall } from './measured-call.ts';
import { streamAnswer } from './stream-answer.ts';

const FINISH: LanguageModelV4StreamPart = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'stop' },
  usage: {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  },
};

const DELTA: LanguageModelV4StreamPart = { type: 'text-delta', id: 't', delta: 'x' };

/** Calls a model whose parts take 2 s each. Returns what is measured, and the error, if there is one. */
async function measured(
  parts: readonly (LanguageModelV4StreamPart | Error)[],
  onText = () => {},
  signal = new AbortController().signal,
) {
  let now = 1000;
  const calls: MeasuredCall[] = [];
  async function* stream() {
    for (const part of parts) {
      now += 2000;
      if (part instanceof Error) throw part;
      yield part;
      // The part is read before the next one takes its time.
      await new Promise((resolve) => void setImmediate(resolve));
    }
  }
  const model: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: 'test',
    modelId: 'test',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('not used')),
    doStream: async () => {
      now += 1000;
      if (parts.length === 0) throw new Error('503');
      return { stream: ReadableStream.from(stream()) };
    },
  };
  const request = {
    model: {
      model,
      info: { id: 'm', tier: 't', contextWindow: 1000 },
      usageSource: 'metered' as const,
      measurement: { clock: { monotonic: () => now }, onCall: (call: MeasuredCall) => void calls.push(call) },
    },
    instructions: 'i',
    messages: [{ role: 'user' as const, content: 'x' }],
    tools: () => ({}),
    toolsOff: false,
    signal,
    onText,
  };
  const error = await streamAnswer(request, 100, { text: '', usage: undefined }, systemClock).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { calls, error };
}

test('a call is measured to its first token of any kind and to its end', async () => {
  for (const kind of ['text', 'reasoning', 'tool-input'] as const) {
    const start: LanguageModelV4StreamPart =
      kind === 'tool-input'
        ? { type: 'tool-input-start', id: 't', toolName: 'x' }
        : { type: `${kind}-start`, id: 't' };
    const { calls, error } = await measured([start, { type: `${kind}-delta`, id: 't', delta: 'x' }, FINISH]);
    assert.equal(error, undefined);
    assert.deepEqual(calls, [
      { outcome: 'ok', seconds: 7, firstTokenSeconds: kind === 'tool-input' ? 3 : 5 },
    ]);
  }
});

test('a call that fails is measured once, wherever it fails', async () => {
  const refused = await measured([]);
  assert.match(String(refused.error), /503/);
  assert.deepEqual(refused.calls, [{ outcome: 'error', seconds: 1, firstTokenSeconds: undefined }]);
  const broken = await measured([{ type: 'text-start', id: 't' }, DELTA, new Error('reset')]);
  assert.match(String(broken.error), /reset/);
  assert.deepEqual(broken.calls, [{ outcome: 'error', seconds: 7, firstTokenSeconds: 5 }]);
});

test('a call that its task ends is canceled', async () => {
  const abort = new AbortController();
  const parts: LanguageModelV4StreamPart[] = [{ type: 'text-start', id: 't' }, DELTA, DELTA, FINISH];
  const { calls } = await measured(parts, () => abort.abort(), abort.signal);
  assert.deepEqual(
    calls.map(({ outcome }) => outcome),
    ['canceled'],
  );
});
