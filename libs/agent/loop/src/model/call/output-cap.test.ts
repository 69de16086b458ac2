import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOutputCap } from './output-cap.ts';

async function cutAfter(maxTokens: number, deltas: readonly string[]): Promise<number | undefined> {
  const cap = createOutputCap(maxTokens);
  for (const [index, delta] of deltas.entries()) if (await cap.add(delta)) return index + 1;
  return undefined;
}

test('an answer within the limit is not cut, however it is streamed', async () => {
  assert.equal(await cutAfter(100, Array(100).fill(' word')), undefined);
  assert.equal(await cutAfter(100, [' word'.repeat(100)]), undefined);
  assert.equal(await cutAfter(16, []), undefined);
});

test('an answer is cut soon after it exceeds the limit', async () => {
  const cut = await cutAfter(100, Array(1000).fill(' word'));
  assert.ok(cut !== undefined && cut > 100 && cut <= 160, String(cut));
  assert.equal(await cutAfter(100, [' word'.repeat(1000)]), 1);
});
