import type { A2AClient, PeerEndpoint, PeerTask } from '@hermes-fleet/a2a';
import type { PeerHealth } from '@hermes-fleet/peers';
import type { TaskResult } from '@hermes-fleet/protocol/handshake';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import type { DispatchExtras } from './delegation.ts';
import type { QuestionExchange } from './question-exchange.ts';
import type { ResultContract } from './remote-result.ts';

export type DelegationOutcome = { readonly kind: 'result'; readonly result: TaskResult } | RefusedDispatch;

/** The peer certainly does not have the task, so another peer may get it. */
export interface RefusedDispatch {
  readonly kind: 'refused';
  readonly reason: string;
  /** The peer answered and will refuse again: it is neither away nor stopping. */
  readonly declined?: boolean;
}

/** The options for following a task at a peer. */
export interface FollowOptions {
  readonly client: A2AClient;
  readonly endpoint: PeerEndpoint;
  readonly health: PeerHealth;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** The trace of the calls to the peer. */
  readonly traceparent: string | undefined;
  /** How long the peer may be unreachable before the delegation fails, ms. */
  readonly peerDownAfterMs: number;
  /** `isFollowed`: the state is not reported, because the stream begins with it, or with a later one. */
  readonly onTask: (task: PeerTask, isFollowed?: boolean) => Promise<void>;
  readonly onRetry: (reason: 'send' | 'stream' | 'ask' | 'answer') => void;
}

/** The options that are needed to cancel a task at a peer and to read its result. */
export interface CancelOptions
  extends ResultContract,
    DispatchExtras,
    Pick<FollowOptions, 'client' | 'endpoint' | 'traceparent' | 'log'> {
  readonly endpoint: PeerEndpoint;
  readonly log: Log;
  readonly signal?: AbortSignal;
}

export interface DelegateOptions extends FollowOptions, CancelOptions {
  readonly endpoint: PeerEndpoint;
  readonly log: Log;
  readonly signal: AbortSignal;
  /**
   * The `accept_until` of a dispatch to a peer that is given up at this time, by the peer's clock, ms since the epoch. It is
   * later in each new attempt at the peer (docs/handshake.md#idempotency). Undefined while the peer's clock is unknown.
   */
  readonly acceptUntil?: (giveUpAt: number) => number | undefined;
  /** An earlier process may have sent this dispatch. */
  readonly resumed: boolean;
  /**
   * The ID is durable when the promise resolves if the peer is a prose peer. Else it is written with the first state, or with
   * the outcome: before that, the dispatch sent again finds the task (docs/handshake.md#idempotency).
   */
  readonly onAccepted: (remoteTaskId: string) => Promise<void>;
  readonly questions: QuestionExchange;
}
