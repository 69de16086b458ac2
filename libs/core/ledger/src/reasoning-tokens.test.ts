import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TokenEntry } from '@hermes-fleet/protocol/ports';
import { deadline } from '@hermes-fleet/protocol/testing';
import { newTask, openTestLedger } from '../testing/harness.ts';

test('the reasoning among the tokens of a call is kept', deadline, async (t) => {
  const { ledger, reopen } = openTestLedger(t);
  const { id } = (await ledger.accept(newTask())).task;
  const counts = { inputTokens: 20, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const call: TokenEntry = { kind: 'own', ...counts, source: 'metered', model: 'm' };
  await ledger.tokens.settle(await ledger.tokens.reserve(id, call), { ...call, reasoningTokens: 7 });
  await ledger.tokens.settle(await ledger.tokens.reserve(id, call), call);
  const again = await reopen();
  assert.deepEqual(again.tokens.entries(id), [{ ...call, reasoningTokens: 7 }, call]);
});
