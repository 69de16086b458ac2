import type { A2AClient, PeerEndpoint, PeerTask } from '@hermes-fleet/a2a';
import type { PeerHealth } from '@hermes-fleet/peers';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { ReplySchema, TaskResult } from '@hermes-fleet/protocol/handshake';
import type { Clock, Log, MessagePart } from '@hermes-fleet/protocol/ports';
import type { QuestionExchange } from './question-exchange.ts';

export type DelegationOutcome = { readonly kind: 'result'; readonly result: TaskResult } | RefusedDispatch;

/** The peer certainly does not have the task, so another peer may get it. */
export interface RefusedDispatch {
  readonly kind: 'refused';
  readonly reason: string;
  /** The peer answered and will refuse again: it is neither away nor stopping. */
  readonly declined?: boolean;
}

export interface DelegateOptions {
  readonly client: A2AClient;
  readonly endpoint: PeerEndpoint;
  readonly health: PeerHealth;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** The trace of the calls to the peer. */
  readonly traceparent: string | undefined;
  /** The task ID in the payload, and so in the result. */
  readonly taskId: string;
  /** The data and files of the task. They are part of every copy of the dispatch. */
  readonly parts: readonly MessagePart[];
  readonly replySchema: ReplySchema;
  /** JSON Schema of `output` when a JSON reply is required. */
  readonly outputSchema?: JsonObject | undefined;
  /** The version of the dispatch. */
  readonly protocolVersion?: string | undefined;
  /**
   * The `accept_until` of a dispatch to a peer that is given up at this time, by the peer's clock, ms since the epoch. It is
   * later in each new attempt at the peer (docs/handshake.md#idempotency). Undefined while the peer's clock is unknown.
   */
  readonly acceptUntil?: (giveUpAt: number) => number | undefined;
  /** How long the peer may be unreachable before the delegation fails, ms. */
  readonly peerDownAfterMs: number;
  /** An earlier process may have sent this dispatch. */
  readonly resumed: boolean;
  /**
   * The ID is durable when the promise resolves if the peer is a prose peer. Else it is written with the first state, or with
   * the outcome: before that, the dispatch sent again finds the task (docs/handshake.md#idempotency).
   */
  readonly onAccepted: (remoteTaskId: string) => Promise<void>;
  /** `isFollowed`: the state is not reported, because the stream begins with it, or with a later one. */
  readonly onTask: (task: PeerTask, isFollowed?: boolean) => Promise<void>;
  readonly onRetry: (reason: 'send' | 'stream' | 'ask' | 'answer') => void;
  readonly questions: QuestionExchange;
}

/** The options that are needed to cancel a task at a peer and to read its result. */
export type CancelOptions = Pick<
  DelegateOptions,
  | 'client'
  | 'endpoint'
  | 'traceparent'
  | 'taskId'
  | 'parts'
  | 'replySchema'
  | 'outputSchema'
  | 'protocolVersion'
  | 'log'
> & { readonly signal?: AbortSignal };
