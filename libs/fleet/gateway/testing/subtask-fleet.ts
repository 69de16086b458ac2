import assert from 'node:assert/strict';
import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import type { Script } from './scripts.ts';
import type { TestProfile } from './test-profile.ts';
import { sending, toolFleet } from './tool-fleet.ts';

export const OWN = { routing: { target: 'switch' } };
export const ORCHESTRATES = { orchestrate: true, routing: { peer_down_after_s: 20 } };

/** The results of a run's tool calls. */
export async function resultsOf(
  of: TestProfile,
  id: string,
): Promise<readonly { ok: boolean; output: JsonObject }[]> {
  const { output } = await of.result(id);
  assert.ok(Array.isArray(output), JSON.stringify(await of.result(id)));
  return output.map((each: JsonValue) => {
    assert.ok(isJsonObject(each) && typeof each.ok === 'boolean');
    return { ok: each.ok, output: isJsonObject(each.output) ? each.output : { said: each.output ?? null } };
  });
}

export const tasksAt = (of: TestProfile): number => of.ledger.list({ pageSize: 1 }).totalSize;

/** Starts workers and switch, whose own runs make these calls. */
export async function subtaskFleet(
  t: Parameters<typeof toolFleet>[0],
  inputs: readonly JsonObject[],
  workers: Parameters<typeof toolFleet>[1],
  own: { before?: Script; fleet?: JsonObject } = {},
) {
  const of = await toolFleet(t, {
    ...workers,
    switch: {
      fleet: { ...ORCHESTRATES, ...own.fleet },
      async script(task, context) {
        if (context.checkpoint.load() === undefined) await own.before?.(task, context);
        return sending(() => of('switch'), ...inputs)(task, context);
      },
    },
  });
  return of;
}
