import { FleetError } from '@hermes-fleet/protocol';
import { type Answer, TRADER } from '@hermes-fleet/protocol/api';
import { serve } from '@hermes-fleet/service';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { AuditWatch } from './audit-heads.ts';
import { type Access, needScope, OVERRIDE, READ } from './control/access.ts';
import { parseInput } from './control/parse-input.ts';

const Body = z.strictObject({
  finding: z.string().min(1).max(64),
  reason: z.string().min(1).max(1_000),
});

/**
 * `GET /audit`: the state of the audit, with what an operator can accept. `POST /audit/accept` accepts it, by the id under
 * which it was shown (docs/trader.md#accept-a-broken-audit). Both are for callers with all accounts, because the audit is of
 * all.
 */
export function registerAudit(
  app: FastifyInstance,
  options: { readonly audit: Pick<AuditWatch, 'state' | 'accept'>; readonly access: Access },
): void {
  const { audit, access } = options;
  const need = ({ caller }: FastifyRequest, scope: string): void => {
    needScope(caller, scope);
    if (access.accountsOf(caller.name) !== '*')
      throw new FleetError('FORBIDDEN', 'the audit is of all accounts, and the caller has not all of them');
  };
  serve(app, TRADER.audit, (request) => {
    need(request, READ);
    return document(audit);
  });
  serve(app, TRADER.acceptAudit, async (request) => {
    need(request, OVERRIDE);
    const { finding, reason } = parseInput(Body, request.body, 'the body is');
    const { seq, hash } = await audit.accept({ caller: request.caller.name, finding, reason });
    return { accepted: { seq, hash }, ...document(audit) };
  });
}

function document(audit: Pick<AuditWatch, 'state'>): Answer<typeof TRADER.audit> {
  const { state, detail, finding } = audit.state();
  return {
    state,
    detail: detail ?? null,
    finding: finding ? { ...finding, published: finding.published ?? null } : null,
  };
}
