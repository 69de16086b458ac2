import type { A2AClient, PeerEndpoint, PeerTask } from '@hermes-fleet/a2a';
import type { PeerHealth } from '@hermes-fleet/peers';
import type { Clock, JsonObject, Log, ReplySchema, TaskResult } from '@hermes-fleet/protocol';
import type { Dialogue } from './dialogue.ts';

/** How a delegation ended. */
export type Delegated = { readonly kind: 'result'; readonly result: TaskResult } | Refused;

/** The peer certainly did not take it: another one may. */
export interface Refused {
  readonly kind: 'refused';
  readonly reason: string;
  /** The peer answered, and will say the same again: it is not merely away or stopping. */
  readonly declined?: boolean;
}

export interface DelegateOptions {
  readonly client: A2AClient;
  readonly endpoint: PeerEndpoint;
  readonly behaviour: PeerHealth;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** The trace that the calls to the peer belong to. */
  readonly traceparent: string | undefined;
  /** The task's id in the payload, and so in the result. */
  readonly taskId: string;
  readonly replySchema: ReplySchema;
  /** What `output` must be where JSON is asked for. */
  readonly outputSchema?: JsonObject | undefined;
  /** How long the peer may be away before the delegation is given up, ms. */
  readonly peerDownAfterMs: number;
  /** Whether an earlier process may have sent this already. */
  readonly resumed: boolean;
  /** Durable when it resolves. */
  readonly onTaken: (remoteTaskId: string) => Promise<void>;
  readonly onTask: (task: PeerTask) => Promise<void>;
  readonly onRetry: (reason: string) => void;
  /** What the peer asks, and what it is told. */
  readonly dialogue: Dialogue;
}
