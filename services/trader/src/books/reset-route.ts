import type { Runtime } from '@hermes-fleet/market';
import { FleetError, invalidParams } from '@hermes-fleet/protocol';
import { TRADER } from '@hermes-fleet/protocol/api';
import { serve } from '@hermes-fleet/service';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type Access, mayTouch, NO_CONCERN, needScope, OVERRIDE } from '../control/access.ts';
import type { ControlStore } from '../control/control-store.ts';
import { parseInput } from '../control/parse-input.ts';

const Body = z.strictObject({
  concern_id: z.string().min(1).max(256),
  reason: z.string().min(1).max(1_000),
});

/**
 * `POST /books/reset`: opens a paper account anew with the balances of trader.yaml (docs/trader.md#reset-an-account). The audit
 * has the order before it is carried out. Throws FORBIDDEN, INVALID_PARAMS and STORE_UNAVAILABLE.
 */
export function registerReset(
  app: FastifyInstance,
  options: {
    readonly store: Pick<ControlStore, 'concern' | 'reset'>;
    readonly runtime: Pick<Runtime, 'view' | 'resetAccount'>;
    readonly access: Access;
  },
): void {
  const { store, runtime, access } = options;
  serve(app, TRADER.reset, async ({ caller, body }) => {
    needScope(caller, OVERRIDE);
    const { concern_id: concernId, reason } = parseInput(Body, body, 'the body is');
    const concern = store.concern(concernId);
    if (concern === undefined || !mayTouch(access, caller, concern.accountId))
      throw invalidParams('concern_id', NO_CONCERN);
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
