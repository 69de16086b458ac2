import type { JsonObject } from '@hermes-fleet/protocol';
import type { ToolResult } from '@hermes-fleet/protocol/ports';
import { a2aTools, type TestCall, testCall } from './call-tool.ts';
import { type OddAgent, taskOf } from './odd-agent.ts';

/** The process's token for the odd agent. */
export const TOKEN = 'token-of-odd-0123456789';
const env = { read: (name: string) => (name === 'ODD_TOKEN' ? TOKEN : undefined) };

/** The A2A tools of a process that has registered this agent, with a token. */
export const registered = ({ base }: OddAgent, more: Parameters<typeof a2aTools>[0] = {}) =>
  a2aTools({
    agents: { odd: { url: base, description: 'Odd.', token_env: 'ODD_TOKEN' } },
    env,
    agentDownAfterMs: 300,
    ...more,
  });

export const say = (agent: OddAgent, call: TestCall = testCall(), tool = 'a2a_call'): Promise<ToolResult> =>
  registered(agent)(tool).run({ name: 'odd', message: 'hello' }, call);

/** A completed task with this text. */
export const completed = (text: string, more: JsonObject = {}): JsonObject =>
  taskOf('COMPLETED', { artifacts: [{ artifactId: 'a', parts: [{ text }] }], ...more });
