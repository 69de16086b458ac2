import type { BookEntry, Concern, Restriction, Strategy } from '@hermes-fleet/market';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { ControlResponse } from '@hermes-fleet/protocol/control';
import type { OutboxSource } from '@hermes-fleet/protocol/ports';
import type { AuditHead, AuditVerifier, VerifyOptions, VerifyReport } from './audit-verifier.ts';
import type { Transport } from './decision-service.ts';
import type { Verdict } from './judge.ts';

/** An attempt as the audit records it. */
export interface AttemptRecord {
  readonly transport: Transport;
  readonly caller: string;
  readonly onBehalfOf?: string;
  /** As received; null if it was not read. */
  readonly text: string | null;
  readonly traceparent?: string;
  /** Ms since the epoch. */
  readonly receivedAt: number;
}

/** The keys by which the store looks up the facts of a well-formed decision. */
export interface DecisionKey {
  readonly decisionId: string;
  readonly concernId: string;
  readonly targetStrategyId: string | undefined;
  /** SHA-256 of the RFC 8785 form of the defaulted payload without `requested_at`. */
  readonly fingerprint: string;
}

/** The keys of the stored facts; a decision has them. */
export interface FactsKey {
  readonly decisionId: string;
  readonly concernId: string;
  readonly targetStrategyId?: string | undefined;
}

/** The committed state at the time of the judgment. */
export interface StoredFacts {
  readonly concern: Concern | undefined;
  readonly target: Strategy | undefined;
  readonly active: Strategy | undefined;
  readonly previous: { readonly fingerprint: string; readonly response: ControlResponse } | undefined;
}

/** Attempts of one caller that were refused for want of authorization and have no record of their own. */
export interface Refusals {
  readonly caller: string;
  /** Ms since the epoch: the first attempt, and the time of the record. */
  readonly from: number;
  readonly to: number;
  readonly counts: Readonly<Record<string, number>>;
}

/** An operator's order to open an account anew. */
export interface AccountReset {
  readonly caller: string;
  readonly concernId: string;
  readonly reason: string;
  /** The account that ends, as decimal strings. */
  readonly before: { readonly equity: string; readonly position: string };
}

/** `busy`: nothing is written, not even the attempt; the caller waits and retries. */
export type Judgment = Verdict | 'busy';

/** A durable attempt. */
export interface WrittenAttempt {
  readonly verdict: Verdict;
  /** Sequence number of its audit record. */
  readonly auditSeq: number;
}

/** An applied decision whose outcome is not recorded yet. */
export interface OpenApply {
  readonly decisionId: string;
  readonly concernId: string;
  /** Of the attempt. */
  readonly auditSeq: number;
  readonly response: ControlResponse;
}

export interface DecisionRecord {
  readonly decisionId: string;
  readonly caller: string;
  /** Ms since the epoch. */
  readonly decidedAt: number;
  readonly response: ControlResponse;
}

export interface AuditRecord {
  readonly seq: number;
  readonly hash: string;
  /** `kind` is seed, attempt, outcome, status, hold, refusals, accept, books or reset (docs/trader.md#audit). */
  readonly record: JsonObject;
}

/** A stored entry of the books (docs/trader.md#books). */
export interface StoredEntry {
  readonly n: number;
  /** As `bookRecord` made it. */
  readonly entry: JsonObject;
}

/** Part of a concern's books, by the time when its entries were recorded, ms since the epoch. */
export interface BooksRange {
  readonly concernId: string;
  /** From this time on, and before `to`. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

export interface OrdersQuery extends BooksRange {
  readonly kind: 'orders' | 'fills';
  readonly strategyId?: string | undefined;
  readonly decisionId?: string | undefined;
  readonly order: 'newest' | 'oldest';
  /** Continue behind this entry. */
  readonly after?: number | undefined;
  readonly limit: number;
}

/** Reads books. Throws STORE_UNAVAILABLE. */
export interface BooksReader {
  /** Entries after number `n`, oldest first. */
  after(concernId: string, n: number, limit: number): StoredEntry[];
  orders(query: OrdersQuery): StoredEntry[];
  /** At most `count` entries of bars, evenly spaced, the last one included. */
  bars(range: BooksRange, count: number): StoredEntry[];
}

/**
 * The control state with its audit and outbox. Each command is one transaction: durable when its promise resolves, and
 * without effect when it rejects with STORE_UNAVAILABLE. The interface is independent of SQLite.
 */
export interface ControlStore {
  readonly id: string;
  /** Runs `judge` synchronously in the transaction on the committed state, and writes its verdict with the attempt. */
  decide(
    attempt: AttemptRecord,
    wanted: DecisionKey,
    judge: (facts: StoredFacts) => Judgment,
  ): Promise<WrittenAttempt | 'busy'>;
  /** The committed state that `judge` would get. Writes nothing. */
  facts(wanted: FactsKey): StoredFacts;
  /**
   * Restricts a concern, with a `hold` record of the reason, where its state allows more. Returns the concern. NOT_FOUND if
   * trader.yaml does not list it.
   */
  holdConcern(concernId: string, restriction: Restriction, reason: string): Promise<Concern>;
  /** Writes an attempt and its answer to the audit alone: malformed payloads, 403, 413, 429. */
  refuse(attempt: AttemptRecord, response: ControlResponse): Promise<void>;
  /** Writes the order of a reset to the audit, before it is carried out. NOT_FOUND for an unknown concern. */
  reset(order: AccountReset): Promise<void>;
  /** Writes the number of refused attempts to the audit. */
  refusals(refusals: Refusals): Promise<void>;
  /**
   * Records a successful activation: an outcome record, and the result in the answer to later copies. It is written with
   * the next transaction or after some milliseconds, which saves a commit of its own. Resolves when it is durable.
   */
  settle(apply: OpenApply, response: Pick<ControlResponse, 'result'>): Promise<void>;
  /** Rolls back a failed activation: restores `before` under the next rev and stores `response` (failed) as the answer. */
  compensate(apply: OpenApply, before: Concern, response: ControlResponse): Promise<Concern>;
  /**
   * Applies the strategies and concerns of trader.yaml in one transaction, with a `seed` record if anything changes. An
   * existing concern keeps its active strategy, run state and risk mode. A strategy that is no longer listed is disabled;
   * a faulted one is enabled again. A concern that is no longer listed is hidden, and keeps its state for when it returns.
   * CONFIG_INVALID if an active strategy is missing or belongs to another market.
   */
  seed(strategies: readonly Strategy[], concerns: readonly Omit<Concern, 'rev'>[]): Promise<void>;
  /** Sets a strategy's status, with a `status` record of the reason. */
  setStatus(strategyId: string, status: Strategy['status'], reason: string): Promise<void>;
  concern(id: string): Concern | undefined;
  concerns(): Concern[];
  strategy(id: string): Strategy | undefined;
  strategies(): Strategy[];
  /** Newest first. */
  decisions(concernId: string, limit: number): DecisionRecord[];
  /** The id of the applied decision that led to a concern's present state; undefined if none did. */
  decisionInForce(concernId: string): string | undefined;
  callerOfDecision(decisionId: string): string | undefined;
  /**
   * True if the caller made an applied decision of the concern from `since` on, but before `until`. `since` null: from the
   * first on.
   */
  hasDecided(caller: string, concernId: string, between: { since: string | null; until: string }): boolean;
  /** Applied decisions without a recorded outcome, oldest first. */
  openApplies(): OpenApply[];
  /** Saves an engine's snapshot and its new entries of the books with the next transaction, like `settle`. */
  saveEngine(concernId: string, snapshot: JsonObject, entries: readonly BookEntry[]): Promise<void>;
  /** Concerns whose stored engine is not the one that was saved last, as the audit has it. */
  unsoundEngines(): string[];
  loadEngine(concernId: string): JsonObject | undefined;
  /** Number of the newest entry of a concern's books; 0 if there is none. */
  lastEntry(concernId: string): number;
  /** What is stored in the books of the engines. */
  readonly books: BooksReader;
  head(): AuditHead;
  audit(afterSeq: number, limit: number): AuditRecord[];
  /** Verifies the whole audit once. */
  verify(options?: VerifyOptions): Promise<VerifyReport>;
  /** Verifies the audit, and then again and again what was added. */
  verifier(): AuditVerifier;
  /** Calls the listener with the new head after each commit. */
  onHead(listener: (head: AuditHead) => void): Disposable;
  /** `fleet.control.<account>.<market>` events. */
  readonly outbox: OutboxSource;
  /** Why writes fail at present (disk full, …), or undefined. */
  problem(): string | undefined;
  close(): Promise<void>;
}
