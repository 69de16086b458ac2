import type { JsonObject } from '@hermes-fleet/protocol';

/** A join token: the right to join once (docs/peering.md#joining). Only the hash of the token is known. */
export interface JoinTokenRecord {
  readonly id: string;
  /** 64 hex digits: the SHA-256 of the token. */
  readonly digest: string;
  /** The name that the worker may take; `*` stands for any part of it. */
  readonly name: string;
  /** What the worker gets, as its creator said. */
  readonly terms: JsonObject;
  /** The caller that created it. */
  readonly createdBy: string;
  /** Ms since the epoch, as are the other times. */
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly used: { readonly at: number; readonly by: string; readonly request: string } | undefined;
  readonly revokedAt: number | undefined;
}

/** A worker that joined with a join token. */
export interface WorkerRecord {
  readonly name: string;
  /** 64 hex digits: the SHA-256 of the token that the worker presents. */
  readonly digest: string;
  /** The token that this profile presents to the worker. */
  readonly token: string;
  /** The JSON-RPC URL of the worker. */
  readonly url: string;
  readonly scopes: readonly string[];
  /** The id of its join token. */
  readonly joinToken: string;
  readonly joinedAt: number;
  /** The time since which it gets no new work, because it is leaving. */
  readonly leavingAt: number | undefined;
}

/** Join tokens, and the workers that joined with them. */
export interface LedgerJoins {
  /** The newest first. */
  tokens(): JoinTokenRecord[];
  findToken(digest: string): JoinTokenRecord | undefined;
  /**
   * Stores a join token, and removes those that ended before `forgetBefore`. Throws QUEUE_FULL when `max` others can still
   * be used.
   */
  addToken(
    token: Omit<JoinTokenRecord, 'used' | 'revokedAt'>,
    limits: { readonly max: number; readonly forgetBefore: number },
  ): Promise<void>;
  /** Revokes a join token that was not used; false if there is none. */
  revokeToken(id: string, at: number): Promise<boolean>;
  workers(): WorkerRecord[];
  /**
   * Uses up the join token and stores the worker, in one transaction. The same request again resolves with false and changes
   * nothing. Throws UNAUTHENTICATED for a token that can't be used any more, and FORBIDDEN for the name, the token or the
   * address of another worker.
   */
  join(worker: WorkerRecord, use: { readonly request: string; readonly at: number }): Promise<boolean>;
  /** Records that a worker is leaving; undefined for an unknown one. */
  leave(name: string, at: number): Promise<WorkerRecord | undefined>;
  /**
   * Removes a worker and its stored announce; false if there is none. A revoked one also loses the push notification configs
   * of the tasks that it sent: they would go on telling it what those tasks do.
   */
  removeWorker(name: string, options: { readonly isRevoked: boolean }): Promise<boolean>;
}
