import type { PeerTask } from '@hermes-fleet/a2a';
import type { Clock, Log, ToolCall } from '@hermes-fleet/protocol/ports';
import {
  answerTimeoutMs,
  createPeerContact,
  type FollowOptions,
  type PeerContact,
  QUERY_TIMEOUT_MS,
} from '@hermes-fleet/relay';
import type { RemoteAgent } from './directory.ts';

export interface AgentCallOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  /** How long an agent may be unreachable, ms. */
  readonly agentDownAfterMs: number;
}

/** One tool call to one agent. */
export interface AgentCall {
  readonly agent: RemoteAgent;
  readonly call: ToolCall;
  /** Aborted when the call or the process ends. */
  readonly signal: AbortSignal;
  readonly onTask: (task: PeerTask) => Promise<void>;
  readonly contact: PeerContact;
  /** The relay's options for following a message at an agent without the handshake. */
  readonly followOptions: FollowOptions;
  /** The time until the deadline, ms: an agent may answer only when it has finished. */
  answerTimeoutMs(): number;
  /** For a short request. */
  readonly requestOptions: {
    readonly timeoutMs: number;
    readonly signal: AbortSignal;
    readonly traceparent: string | undefined;
  };
}

export function openAgentCall(
  { clock, log, random, agentDownAfterMs }: AgentCallOptions,
  agent: RemoteAgent,
  call: ToolCall,
  signal: AbortSignal,
  onTask: (task: PeerTask) => Promise<void>,
): AgentCall {
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
    followOptions,
    contact: createPeerContact(followOptions),
    answerTimeoutMs: () => answerTimeoutMs(followOptions),
    requestOptions: { timeoutMs: QUERY_TIMEOUT_MS, signal, traceparent },
  };
}
