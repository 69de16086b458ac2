import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isJsonObject } from '@hermes-fleet/protocol';
import { readControlDecision } from '@hermes-fleet/protocol/control';
import { CONCERNS, decisionRequest } from './decision-body.ts';

test('each concern is paused and resumed in turn, over whichever transport', () => {
  const actions = new Map<string, string[]>();
  for (let n = 0; n < 4 * CONCERNS; n += 1) {
    const kind = (['jsonrpc', 'mcp', 'a2a'] as const)[n % 3] ?? 'jsonrpc';
    const { path, body } = decisionRequest(kind, n % CONCERNS);
    assert.equal(path, kind === 'mcp' ? '/mcp' : '/jsonrpc');
    const { params } = JSON.parse(body);
    const payload: unknown = {
      jsonrpc: params,
      mcp: params.arguments,
      a2a: params.message?.parts[0].data.payload,
    }[kind];
    assert.ok(isJsonObject(payload));
    const reading = readControlDecision(JSON.stringify(payload));
    assert.ok('decision' in reading, JSON.stringify(reading));
    const { concernId, action } = reading.decision;
    actions.set(concernId, [...(actions.get(concernId) ?? []), action]);
  }
  assert.equal(actions.size, CONCERNS);
  for (const each of actions.values()) assert.deepEqual(each, ['pause', 'resume', 'pause', 'resume']);
});
