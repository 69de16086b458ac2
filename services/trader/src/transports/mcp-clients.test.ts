import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectOfficial, OFFICIAL_CLIENTS } from '@hermes-fleet/mcp/testing';
import { at, decision, GRID, openTransports, TREND, tokenOf } from '../../testing/transports/transports.ts';

for (const kind of OFFICIAL_CLIENTS)
  test(`${kind}: its decision is applied, and audited as it sent it`, async (t) => {
    const transports = await openTransports(t);
    const client = await connectOfficial(t, kind, transports.url, tokenOf('operator'));
    assert.equal((await client.listTools()).length, 3);
    assert.deepEqual(transports.audited(), []);
    const input = decision({
      action: 'switch',
      target_strategy_id: TREND,
      expected_active_strategy_id: GRID,
    });
    const { structuredContent } = await client.callTool('apply_control_decision', input);
    assert.equal(at(structuredContent, 'status'), 'applied');
    const [attempt, ...others] = transports.audited();
    assert.deepEqual([JSON.parse(attempt?.text ?? ''), attempt?.codes, others], [input, [], []]);
  });
