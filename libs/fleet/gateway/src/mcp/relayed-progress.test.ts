import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callTool } from '@hermes-fleet/mcp/testing';
import { mcpFleet } from '../../testing/mcp-fleet.ts';
import { DONE } from '../../testing/scripts.ts';

test("a relayed task shows its worker's tool and the tokens that it reports, and then those of its result", async (t) => {
  const followed = Promise.withResolvers<void>();
  const seen = Promise.withResolvers<void>();
  const { connect } = await mcpFleet(t, async (_task, { budget, reportEvent }) => {
    await followed.promise;
    const call = await budget.reserve({ inputTokens: 60, maxOutputTokens: 40 });
    await call.settle({ inputTokens: 60, outputTokens: 5, source: 'metered' });
    const spent = { spent_tokens: 80, budget_tokens: 900 };
    await reportEvent({ type: 'progress', data: { step: 1, tool: 'terminal', phase: 'started', ...spent } });
    await seen.promise;
    return DONE;
  });
  const client = await connect();
  const lines: string[] = [];
  const onprogress = ({ message = '' }: { message?: string }): void => {
    lines.push(message);
    if (message.startsWith('working at neo')) followed.resolve();
    if (message === 'working at neo · terminal · 80 of 900 tokens') seen.resolve();
  };
  await callTool(client, 'fleet_dispatch', { brief: 'x', token_budget: 900 }, { onprogress });
  assert.equal(lines.at(-1), 'completed at neo · 65 of 900 tokens');
});
