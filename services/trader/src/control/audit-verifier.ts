/** The newest record of the audit chain. */
export interface AuditHead {
  readonly seq: number;
  /** Hex; sixty-four zeros for seq 0. */
  readonly hash: string;
}

/** A row that differs from what the audit says. */
export interface Difference {
  readonly table: string;
  readonly row: string;
  readonly reason: string;
}

/** What is wrong with an audit: the first record, or a row of a table that differs from what the audit says. */
export interface Broken {
  /** The broken record; for a row, the record up to which the tables were compared. */
  readonly seq: number;
  readonly reason: string;
  readonly table?: string;
  readonly row?: string;
}

/** A record in which an operator accepted what was wrong before it. */
export interface Accepted {
  readonly seq: number;
  readonly at: string;
  readonly caller: string;
  readonly reason: string;
  /** A published head that the audit lacks. */
  readonly published?: AuditHead;
}

export interface VerifyReport {
  readonly ok: boolean;
  /** The number of sound records, and the last of them. */
  readonly records: number;
  readonly head: AuditHead;
  readonly broken?: Broken;
  /** Left out if there is none. */
  readonly accepted?: readonly Accepted[];
}

export interface VerifyOptions {
  /** A previously published head. It reveals a truncated tail and a rewritten chain. */
  readonly known?: AuditHead;
  readonly signal?: AbortSignal;
}

/** What an operator accepts, and who does. */
export interface Acceptance {
  readonly caller: string;
  readonly reason: string;
  readonly broken: Broken;
  /** The published head that the audit contradicts. The numbers of the records go on above it. */
  readonly published?: AuditHead & { readonly store: string };
}

/** Verifies an audit and the tables that its records make (docs/trader.md#audit). */
export interface AuditVerifier {
  /**
   * Verifies what was added since the last call, at first everything, in slices that yield to the event loop, and compares
   * the tables. Rejects with the signal's reason, and with STORE_UNAVAILABLE if the file is temporarily unreadable.
   */
  run(options?: VerifyOptions): Promise<VerifyReport>;
  /**
   * Writes that an operator accepts the audit and the tables as they are. From then on `run` begins with what the tables
   * say. Throws CONFIG_INVALID for a file that cannot be read.
   */
  accept(acceptance: Acceptance): Promise<AuditHead>;
}
