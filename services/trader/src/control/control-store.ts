import type { Concern, Strategy } from '@hermes-fleet/paper';
import type { ControlResponse, JsonObject, OutboxSource } from '@hermes-fleet/protocol';
import type { Transport } from './attempt.ts';
import type { Verdict } from './judge.ts';

/** An attempt as the audit keeps it. */
export interface AttemptRecord {
  readonly door: Transport;
  readonly caller: string;
  readonly onBehalfOf?: string;
  /** As received; null where it was not read. */
  readonly text: string | null;
  readonly traceparent?: string;
  /** Ms since the epoch. */
  readonly receivedAt: number;
}

/** By what the store looks up the facts of a well-formed decision. */
export interface Wanted {
  readonly decisionId: string;
  readonly concernId: string;
  readonly targetStrategyId: string | undefined;
  /** SHA-256 over the RFC 8785 form of the defaulted payload without `requested_at`. */
  readonly fingerprint: string;
}

/** What is committed, at the moment of the judgement. */
export interface StoredFacts {
  readonly concern: Concern | undefined;
  readonly target: Strategy | undefined;
  readonly active: Strategy | undefined;
  readonly previous: { readonly fingerprint: string; readonly response: ControlResponse } | undefined;
}

/** `busy`: nothing is written, not even the attempt; the caller waits and asks again. */
export type Judgement = Verdict | 'busy';

/** An attempt that is on disk. */
export interface Written {
  readonly verdict: Verdict;
  /** The sequence of its audit record. */
  readonly auditSeq: number;
}

/** An applied decision whose outcome is not recorded yet. */
export interface OpenApply {
  readonly decisionId: string;
  readonly concernId: string;
  readonly auditSeq: number;
  readonly response: ControlResponse;
}

/** The newest link of the audit chain. */
export interface AuditHead {
  readonly seq: number;
  /** Hex; of seq 0 sixty-four zeros. */
  readonly hash: string;
}

export interface VerifyReport {
  readonly ok: boolean;
  /** How many records hold, and the last of them. */
  readonly records: number;
  readonly head: AuditHead;
  /** The first broken row and what is wrong with it. */
  readonly broken?: { readonly seq: number; readonly reason: string };
}

export interface DecisionRecord {
  readonly decisionId: string;
  readonly caller: string;
  readonly decidedAt: number;
  readonly response: ControlResponse;
}

export interface AuditRecord {
  readonly seq: number;
  readonly hash: string;
  /** `kind`: seed, attempt, outcome or status; see docs/trader.md. */
  readonly record: JsonObject;
}

/**
 * The control state, its audit and its outbox. Whole commands only: each is one transaction, durable when its promise
 * resolves, and STORE_UNAVAILABLE when it rejects, with nothing of it written (design 4, Storage). PostgreSQL could
 * stand behind it.
 */
export interface ControlStore {
  readonly id: string;
  /** `judge` runs in the transaction, synchronously, over what is committed; what it returns is written with the attempt. */
  decide(
    attempt: AttemptRecord,
    wanted: Wanted,
    judge: (facts: StoredFacts) => Judgement,
  ): Promise<Written | 'busy'>;
  /** The attempt and its answer, in the audit alone: malformed payloads, 403, 413, 429. */
  refuse(attempt: AttemptRecord, response: ControlResponse): Promise<void>;
  /**
   * The activation succeeded: an outcome record, and the result that the answer has for copies from now on; nothing else of
   * an answer changes by then. Written with the next transaction, at the latest after some milliseconds, so that it costs
   * no commit of its own; resolves when it is durable.
   */
  settle(apply: OpenApply, response: Pick<ControlResponse, 'result'>): Promise<void>;
  /** The activation failed: `before` is restored under the next rev, the decision's answer becomes `response` (failed). */
  compensate(apply: OpenApply, before: Concern, response: ControlResponse): Promise<Concern>;
  /**
   * Brings strategies and concerns to what trader.yaml says, in one transaction with a `seed` record where anything
   * differs. What is active, paused, and the risk mode of a concern that is there stay; a strategy that is listed no
   * more is disabled, one that was faulted is tried again. A concern that is listed no more is none until it comes back,
   * as it was. CONFIG_INVALID where what is active would be of another market, or missing.
   */
  seed(strategies: readonly Strategy[], concerns: readonly Omit<Concern, 'rev'>[]): Promise<void>;
  /** A strategy's status, with a `status` record that says why. */
  setStatus(strategyId: string, status: Strategy['status'], reason: string): Promise<void>;
  concern(id: string): Concern | undefined;
  concerns(): Concern[];
  strategy(id: string): Strategy | undefined;
  strategies(): Strategy[];
  /** The newest first. */
  decisions(concernId: string, limit: number): DecisionRecord[];
  /** Applied decisions that a crash cut off before their outcome, oldest first. */
  openApplies(): OpenApply[];
  /** An engine's snapshot; joined to the next transaction like `settle`. */
  saveEngine(concernId: string, snapshot: JsonObject): Promise<void>;
  loadEngine(concernId: string): JsonObject | undefined;
  head(): AuditHead;
  audit(afterSeq: number, limit: number): AuditRecord[];
  auditCount(): number;
  /** Walks the whole chain in slices, without holding up decisions; `known` is a head that was published before. */
  verify(o?: { readonly known?: AuditHead; readonly signal?: AbortSignal }): Promise<VerifyReport>;
  /** Called after COMMIT with the new head. */
  onHead(listener: (head: AuditHead) => void): Disposable;
  /** `fleet.control.<account>.<market>` events. */
  readonly outbox: OutboxSource;
  /** Why it cannot write now (disk full, …), or undefined. */
  problem(): string | undefined;
  close(): Promise<void>;
}
