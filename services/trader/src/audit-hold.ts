import type { Runtime } from '@hermes-fleet/market';
import type { AuditState } from './audit-heads.ts';

/** The holder of the hold while the audit is not known to be sound. */
const AUDIT = 'audit';

/**
 * Lets no engine enter a position while the audit is broken, or not verified yet; exits go on. Called with each state of
 * the audit.
 */
export function holdForAudit(
  runtime: Pick<Runtime, 'hold'>,
  concerns: readonly string[],
): (state: AuditState) => void {
  return ({ mayEnter, detail }) => {
    const reason = `audit: ${detail ?? 'it is not verified yet'}`;
    for (const concern of concerns)
      runtime.hold(concern, AUDIT, mayEnter ? undefined : { runState: 'paused', reason });
  };
}
