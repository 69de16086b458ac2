import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import {
  type AdmittedTask,
  type RunContext,
  silentLog,
  systemClock,
  type Tool,
  type ToolCall,
  type ToolResult,
} from '@hermes-fleet/protocol/ports';
import { createSubtaskDelegation } from '../src/fleet-tools/delegate-subtask.ts';
import { createFleetTools } from '../src/fleet-tools/fleet-tools.ts';
import { freePort } from './free-port.ts';
import { profile } from './profile.ts';
import { DONE, type Script } from './scripts.ts';
import type { ProfileOptions, TestProfile } from './test-profile.ts';

/** A tool call as the agent loop makes it, with its memo in the run's checkpoint. */
export function toolCall(task: AdmittedTask, context: RunContext, key = '1.0'): ToolCall {
  const { checkpoint, ...rest } = context;
  const memoOf = (): JsonObject | undefined => {
    const memo = checkpoint.load()?.[key];
    return isJsonObject(memo) ? memo : undefined;
  };
  return {
    ...rest,
    task,
    key,
    memo: {
      load: memoOf,
      save: (memo) => checkpoint.save({ ...checkpoint.load(), [key]: memo }),
    },
  };
}

/** The fleet tools of a test's profile. */
export function fleetToolsOf(of: () => TestProfile, o: { orchestrates?: boolean; maxAtATime?: number } = {}) {
  const { orchestrates = true, maxAtATime = 100 } = o;
  const { name: self, peers } = of();
  const work = () => of().gateway.subtasks;
  const delegateSubtask = createSubtaskDelegation({
    profile: self,
    subtasks: work,
    orchestrates,
    maxAtATime,
    log: silentLog,
  });
  const tools = createFleetTools({
    profile: self,
    peers,
    subtasks: work,
    delegateSubtask: delegateSubtask,
    clock: systemClock,
  });
  const tool = (name: string): Tool => tools.find((each) => each.name === name) ?? assert.fail(`no ${name}`);
  return { tool, delegateSubtask };
}

/** Starts profiles on real ports that know each other. */
export async function toolFleet(
  t: TestContext,
  scripts: Record<
    string,
    Pick<ProfileOptions, 'script' | 'tier' | 'repositories' | 'fleet' | 'defaultBudget' | 'contexts'>
  >,
): Promise<(name: string) => TestProfile> {
  const agents: Record<string, number> = {};
  for (const name of Object.keys(scripts)) agents[name] = await freePort();
  const made: Record<string, TestProfile> = {};
  for (const [name, options] of Object.entries(scripts)) {
    // The shortest pauses that backoff allows.
    const each = await profile(t, { name, agents, random: () => 0, ...options });
    await each.serve();
    made[name] = each;
  }
  const of = (name: string): TestProfile => made[name] ?? assert.fail(`no ${name}`);
  for (const name of Object.keys(scripts)) await introduce(of(name), Object.values(made));
  return of;
}

/** Gives a profile the current announces of the others. */
export async function introduce(to: TestProfile, all: readonly TestProfile[]): Promise<void> {
  for (const other of all) {
    if (other.name === to.name) continue;
    const announce = await other.gateway.freshAnnounce();
    const { outcome } = await to.peers.record(announce, { name: other.name });
    assert.notEqual(outcome, 'refused');
  }
}

/** A run that calls `fleet_send` with each input in turn and outputs the results. */
export const sending =
  (of: () => TestProfile, ...inputs: readonly JsonObject[]): Script =>
  async (task, context) => {
    const { tool } = fleetToolsOf(of);
    const results: JsonValue[] = [];
    for (const [at, input] of inputs.entries()) {
      const call = toolCall(task, context, `${at + 1}.0`);
      results.push(shown(await tool('fleet_send').run(input, call)));
    }
    return { ...DONE, output: results };
  };

const shown = ({ ok, output }: ToolResult): JsonValue => ({ ok, output });
