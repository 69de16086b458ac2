import { createHash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';

export interface AuditRow {
  readonly seq: number;
  // biome-ignore lint/suspicious/noExplicitAny: what a record says is what the tests are about
  readonly record: any;
  readonly text: string;
  readonly hash: string;
}

export interface ConcernRow {
  readonly id: string;
  readonly activeStrategyId: string | null;
  readonly runState: string;
  readonly riskMode: string;
}

/** The content of a trader's control.db, read while its owner runs, without the trader's code. */
export function readControlFile(file: string): { audit: AuditRow[]; concerns: ConcernRow[] } {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    db.exec('PRAGMA busy_timeout = 5000; BEGIN');
    const audit = db.prepare('SELECT seq, record, hash FROM audit ORDER BY seq').all();
    const concerns = db.prepare('SELECT * FROM concerns ORDER BY id').all();
    return {
      audit: audit.map(({ seq, record, hash }) => ({
        seq: Number(seq),
        record: JSON.parse(String(record)),
        text: String(record),
        hash: String(hash),
      })),
      concerns: concerns.map((row) => ({
        id: String(row.id),
        activeStrategyId: row.active_strategy_id === null ? null : String(row.active_strategy_id),
        runState: String(row.run_state),
        riskMode: String(row.risk_mode),
      })),
    };
  } finally {
    db.close();
  }
}

/** The first row that does not follow from the one before it; undefined for a chain that holds (docs/trader.md#audit). */
export function brokenAt(audit: readonly AuditRow[]): number | undefined {
  let previous = '0'.repeat(64);
  for (const [at, { seq, text, hash }] of audit.entries()) {
    const wanted = createHash('sha256').update(`${previous}${text}`).digest('hex');
    if (seq !== at + 1 || hash !== wanted) return at + 1;
    previous = hash;
  }
  return undefined;
}

/** The attempts at decisions in it, in order. */
export const attemptsIn = (audit: readonly AuditRow[]): AuditRow[] =>
  audit.filter(({ record }) => record.kind === 'attempt');
