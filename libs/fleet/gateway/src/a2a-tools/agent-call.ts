import type { PeerTask } from '@hermes-fleet/a2a';
import { definedFields } from '@hermes-fleet/protocol';
import type { Clock, Log, ToolCall } from '@hermes-fleet/protocol/ports';
import {
  answerTimeoutMs,
  createPeerContact,
  type FollowOptions,
  QUERY_TIMEOUT_MS,
} from '@hermes-fleet/relay';
import { z } from 'zod';
import { callId } from '../tool-support/call-id.ts';
import type { RemoteAgent } from './directory.ts';

export interface AgentCallOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  /** How long an agent may be unreachable, ms. */
  readonly agentDownAfterMs: number;
}

export type AgentCall = ReturnType<typeof openAgentCall>;

/** One tool call to one agent. `signal` is aborted when the call or the process ends. */
export function openAgentCall(
  { clock, log, random, agentDownAfterMs }: AgentCallOptions,
  agent: RemoteAgent,
  call: ToolCall,
  signal: AbortSignal,
  onTask: (task: PeerTask) => Promise<void>,
) {
  const { traceparent, deadlineAt } = call.task;
  const followOptions: FollowOptions = {
    client: agent.client,
    endpoint: agent.endpoint,
    health: agent.health,
    clock,
    log,
    random,
    signal,
    traceparent,
    deadlineAt,
    onTask,
    peerDownAfterMs: agentDownAfterMs,
    onRetry: () => undefined,
  };
  return {
    agent,
    call,
    signal,
    onTask,
    /** The relay's options for following a message at an agent without the handshake. */
    followOptions,
    contact: createPeerContact(followOptions),
    /** The time until the deadline, ms: an agent may answer only when it has finished. */
    answerTimeoutMs: (): number => answerTimeoutMs(followOptions),
    /** For a short request. */
    requestOptions: { timeoutMs: QUERY_TIMEOUT_MS, signal, traceparent },
  };
}

const CallState = z.object({
  contextId: z.string(),
  /** The agent's task, once it is known. */
  taskId: z.string().optional(),
});

/** The durable state of a tool call. Its existence means that the message may have been sent. */
export type CallState = z.output<typeof CallState>;

export function loadCallState({ memo }: Pick<ToolCall, 'memo'>): CallState | undefined {
  const value = memo.load();
  return value === undefined ? undefined : CallState.parse(value);
}

/** Durable when it resolves. */
export const saveCallState = ({ memo }: Pick<ToolCall, 'memo'>, state: CallState): Promise<void> =>
  memo.save(definedFields(state));

/** The ID of a call's message: unique to the call, and the same after a restart. */
export function messageIdOf({ task, key }: Pick<ToolCall, 'task' | 'key'>): string {
  return callId(task.id, key);
}
