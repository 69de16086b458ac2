import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject, LifecycleEvent } from '@hermes-fleet/protocol';
import { describeEvent } from './describe.ts';

const SENTENCES: readonly (readonly [type: LifecycleEvent, data: JsonObject, sentence: string])[] = [
  ['progress', { step: 2, spent_tokens: 16_812 }, 'Step 2, 16,812 tokens so far'],
  ['progress', { tool: 'shell_exec', phase: 'started' }, 'shell_exec runs'],
  [
    'progress',
    { tool: 'shell_exec', phase: 'ended', ok: false, duration_ms: 2300 },
    'shell_exec failed after 2.3 s',
  ],
  ['progress', { fetch: 'started' }, 'Fetch of the repository started'],
  ['progress', { peer: 'neo', state: 'input_required' }, 'neo: input required'],
  ['progress', { peer: 'neo', attempt: 1, outcome: 'refused', unmet: ['mcp'] }, 'neo refused: mcp'],
  ['progress', { peer: 'neo', attempt: 1, outcome: 'full' }, 'neo has no free slot'],
  ['progress', { peer: 'neo', attempt: 1, outcome: 'unreachable' }, 'neo is unreachable'],
  [
    'progress',
    { peer: 'neo', attempt: 1, outcome: 'failed', error: 'model_failed' },
    'neo failed: model_failed',
  ],
  ['delegated', { peer: 'neo', attempt: 1, part: '01a2/2.0' }, 'Sent to neo, attempt 1 (a part)'],
  ['done', { tokens_spent: 80_103 }, 'Done after 80,103 tokens'],
  ['blocked', { unmet: [{ kind: 'mcp', name: 'github' }] }, 'Blocked: mcp github'],
];

for (const [type, data, sentence] of SENTENCES)
  test(`an event is told as "${sentence}"`, () => assert.equal(describeEvent(type, data), sentence));
