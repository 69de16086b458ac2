import type { Usage } from '../handshake/result.ts';
import type { CloudEvent } from '../task-states-and-events.ts';

/** An event on its way to the bus. `event.id` is the same at every attempt. */
export interface OutboxEvent {
  readonly seq: number;
  readonly subject: string;
  readonly event: CloudEvent;
}

/** The events that the event relay publishes (implemented by libs/core/ledger). */
export interface OutboxSource {
  /** Up to `limit` events with a sequence greater than `afterSeq`, in order. */
  read(afterSeq: number, limit: number): OutboxEvent[];
  /** The sequence up to which the bus has acknowledged every event. */
  cursor(): number;
  /** Moves the cursor forward, durably. */
  advance(seq: number): Promise<void>;
  /** Resolves as soon as an event after `afterSeq` is committed; rejects with the signal's reason. */
  wait(afterSeq: number, signal: AbortSignal): Promise<void>;
  /** The number of unacknowledged events, and the age of the oldest in ms (0 without events). */
  backlog(): { readonly count: number; readonly oldestAgeMs: number };
}

/** The tokens of one model call or one delegation. */
export interface TokenEntry {
  readonly kind: 'own' | 'delegated';
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** The part of the output that was reasoning, if the provider reports it. */
  readonly reasoningTokens?: number;
  readonly source: Usage['source'];
  readonly model: string;
}

/** The durable token account of each task (implemented by libs/core/ledger, used by ../tokens). */
export interface TokenStore {
  /** Every entry of a task; an unsettled reservation counts with its estimate. */
  entries(taskId: string): TokenEntry[];
  /** Books an estimate before a call; durable when it resolves with the reservation's id. */
  reserve(taskId: string, estimate: TokenEntry): Promise<string>;
  /** Replaces a reservation with the tokens that were spent. */
  settle(reservationId: string, actual: TokenEntry): Promise<void>;
  /** Books tokens without a reservation, for delegated work. */
  add(taskId: string, entry: TokenEntry): Promise<void>;
}
