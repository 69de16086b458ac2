import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { relayFleet, spending } from './relay-fleet.ts';
import type { Script } from './scripts.ts';

/** The requirements of a task that needs the MCP server `memory`. */
export const MEMORY = { requirements: { required_mcp: ['memory'] } };

/** An orchestrator and workers whose MCP server `memory` is unhealthy until `health` changes it. */
export async function withoutMemory(
  t: TestContext,
  o: { fleet?: JsonObject; worker?: JsonObject; script?: Script; names?: string[] } = {},
) {
  const options = { script: o.script ?? spending(5), fleet: o.worker ?? {} };
  const names = o.names ?? ['neo'];
  const made = await relayFleet(t, Object.fromEntries(names.map((name) => [name, options])), {
    ...(o.fleet ? { fleet: o.fleet } : {}),
  });
  const health = async (state: 'ok' | 'error', ...which: string[]): Promise<void> => {
    for (const name of which.length > 0 ? which : names) {
      made.worker(name).facts.mcp.memory = state;
      await made.hear(name);
    }
  };
  await health('error');
  return { ...made, health };
}

/** Polls until the condition is true; fails after 10 s. */
export async function until(condition: () => boolean): Promise<void> {
  const giveUpAt = Date.now() + 10_000;
  while (!condition()) {
    if (Date.now() > giveUpAt) assert.fail('the condition did not come true within 10 s');
    await systemClock.sleep(10);
  }
}
