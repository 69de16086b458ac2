import type { Runtime } from '@hermes-fleet/market';
import { FleetError, fieldErrors } from '@hermes-fleet/protocol';
import { TRADER } from '@hermes-fleet/protocol/api';
import { serve } from '@hermes-fleet/service';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type Access, mayTouch, needScope, OVERRIDE } from '../control/access.ts';
import type { ControlStore } from '../control/control-store.ts';

const Body = z.strictObject({
  concern_id: z.string().min(1).max(256),
  reason: z.string().min(1).max(1_000),
});

export interface ResetRouteOptions {
  readonly store: Pick<ControlStore, 'concern' | 'reset'>;
  readonly runtime: Pick<Runtime, 'view' | 'resetAccount'>;
  readonly access: Access;
}

/**
 * `POST /books/reset`: opens a paper account anew with the balances of trader.yaml (docs/trader.md#reset-an-account). The audit
 * has the order before it is carried out. Throws FORBIDDEN, INVALID_PARAMS and STORE_UNAVAILABLE.
 */
export function registerReset(app: FastifyInstance, { store, runtime, access }: ResetRouteOptions): void {
  serve(app, TRADER.reset, async ({ caller, body }) => {
    needScope(caller, OVERRIDE);
    const parsed = Body.safeParse(body);
    if (!parsed.success)
      throw new FleetError('INVALID_PARAMS', 'the body is not valid', { fields: fieldErrors(parsed.error) });
    const { concern_id: concernId, reason } = parsed.data;
    const concern = store.concern(concernId);
    if (concern === undefined || !mayTouch(access, caller, concern.accountId)) {
      const why = 'there is no such concern; list_strategies lists accounts and markets';
      throw new FleetError('INVALID_PARAMS', `concern_id: ${why}`, {
        fields: [{ path: 'concern_id', reason: why }],
      });
    }
    const before = accountOf(runtime, concernId);
    await store.reset({ caller: caller.name, concernId, reason, before });
    await runtime.resetAccount(concernId);
    return { concern_id: concernId, before, after: accountOf(runtime, concernId) };
  });
}

function accountOf(
  runtime: Pick<Runtime, 'view'>,
  concernId: string,
): { readonly equity: string; readonly position: string } {
  const view = runtime.view(concernId);
  if (view === undefined) throw new FleetError('INTERNAL', `there is no engine for concern ${concernId}`);
  return { equity: view.equity.total, position: view.position.quantity };
}
