import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { type MeasuredCall, withMeasurement } from './measured-model.ts';

const FINISH: LanguageModelV4StreamPart = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'stop' },
  usage: {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  },
};

async function partsOf(stream: ReadableStream<LanguageModelV4StreamPart>) {
  const parts: LanguageModelV4StreamPart[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

/** A model whose parts take 2 s each, with what it reports. */
function measured(parts: readonly (LanguageModelV4StreamPart | Error)[]) {
  let now = 1000;
  const calls: MeasuredCall[] = [];
  async function* stream() {
    for (const part of parts) {
      now += 2000;
      if (part instanceof Error) throw part;
      yield part;
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
  const timed: LanguageModelV4 = withMeasurement(model, {
    clock: { monotonic: () => now },
    onCall: (call) => void calls.push(call),
  });
  const open = (abortSignal?: AbortSignal) =>
    timed.doStream({ prompt: [], ...(abortSignal && { abortSignal }) });
  return { open, calls };
}

test('a call is measured to its first token of any kind and to its end, and its answer is unchanged', async () => {
  for (const first of [
    { type: 'text-delta', id: 't', delta: 'x' },
    { type: 'reasoning-delta', id: 't', delta: 'x' },
    { type: 'tool-input-start', id: 't', toolName: 'x' },
  ] satisfies LanguageModelV4StreamPart[]) {
    const start: LanguageModelV4StreamPart = { type: 'stream-start', warnings: [] };
    const parts: LanguageModelV4StreamPart[] = [start, first, first, FINISH];
    const { open, calls } = measured(parts);
    const { stream } = await open();
    assert.deepEqual(await partsOf(stream), parts);
    assert.deepEqual(calls, [{ outcome: 'ok', seconds: 9, firstTokenSeconds: 5 }]);
  }
});

test('a call that fails is measured once, wherever it fails', async () => {
  const refused = measured([]);
  await assert.rejects(async () => refused.open(), /503/);
  assert.deepEqual(refused.calls, [{ outcome: 'error', seconds: 1, firstTokenSeconds: undefined }]);
  const broken = measured([{ type: 'text-delta', id: 't', delta: 'x' }, new Error('reset')]);
  const { stream } = await broken.open();
  await assert.rejects(partsOf(stream), /reset/);
  assert.deepEqual(broken.calls, [{ outcome: 'error', seconds: 5, firstTokenSeconds: 3 }]);
});

test('a call that its task ends is canceled', async () => {
  const { open, calls } = measured([{ type: 'text-delta', id: 't', delta: 'x' }, FINISH]);
  const abort = new AbortController();
  const { stream } = await open(abort.signal);
  for await (const part of stream) {
    abort.abort();
    if (part.type === 'text-delta') break;
  }
  assert.deepEqual(calls, [{ outcome: 'canceled', seconds: 3, firstTokenSeconds: 3 }]);
});
