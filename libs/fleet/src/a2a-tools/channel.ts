import type { PeerTask } from '@hermes-fleet/a2a';
import type { Clock, Log, ToolCall } from '@hermes-fleet/protocol';
import {
  ASK_TIMEOUT_MS,
  createLink,
  type Following,
  type Link,
  LONGEST_ANSWER_MS,
} from '@hermes-fleet/relay';
import type { RemoteAgent } from './directory.ts';

export interface ChannelParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  /** How long an agent may be away, ms. */
  readonly agentDownAfterMs: number;
}

/** One call's way to one agent. */
export interface Channel {
  readonly agent: RemoteAgent;
  readonly call: ToolCall;
  /** The end of the call, or of the process. */
  readonly signal: AbortSignal;
  readonly onTask: (task: PeerTask) => Promise<void>;
  readonly link: Link;
  /** As the relay looks after a message at an agent that knows no handshake. */
  readonly following: Following;
  /** Until the deadline, for an answer that may come only when all is done. In ms. */
  patienceMs(): number;
  /** For a short question. */
  readonly asked: {
    readonly timeoutMs: number;
    readonly signal: AbortSignal;
    readonly traceparent: string | undefined;
  };
}

export function openChannel(
  parts: ChannelParts,
  agent: RemoteAgent,
  call: ToolCall,
  signal: AbortSignal,
  onTask: (task: PeerTask) => Promise<void>,
): Channel {
  const { clock } = parts;
  const { traceparent, deadlineAt } = call.task;
  const following: Following = {
    client: agent.client,
    endpoint: agent.endpoint,
    behaviour: agent.behaviour,
    clock,
    log: parts.log,
    random: parts.random,
    signal,
    traceparent,
    deadlineAt,
    onTask,
    peerDownAfterMs: parts.agentDownAfterMs,
    onRetry: () => undefined,
  };
  return {
    agent,
    call,
    signal,
    onTask,
    following,
    link: createLink(following),
    patienceMs: () => (deadlineAt === undefined ? LONGEST_ANSWER_MS : Math.max(1, deadlineAt - clock.now())),
    asked: { timeoutMs: ASK_TIMEOUT_MS, signal, traceparent },
  };
}
