import { CONSOLE } from '@hermes-fleet/protocol/api';
import { serve } from '@hermes-fleet/service';
import type { Store } from '@hermes-fleet/store';
import type { FastifyInstance } from 'fastify';
import { iso } from '../read-model/task-rows.ts';
import { highestHeadsIn } from '../read-model/trader.ts';
import { requireSecret } from './sign-in.ts';

/** `GET /api/audit/heads`: the console as a witness, for `fleet trader audit verify` (docs/console.md#a-witness-of-the-audit). */
export function registerAuditHeads(
  scope: FastifyInstance,
  { store, loginSecret }: { readonly store: Pick<Store, 'read'>; readonly loginSecret: string },
): void {
  serve(scope, CONSOLE.auditHeads, { config: { withSecret: true } }, (request) => {
    requireSecret(request.headers.authorization, loginSecret);
    return {
      heads: store
        .read(highestHeadsIn)
        .map(({ service, store: file, seq, hash, at }) => ({ service, store: file, seq, hash, at: iso(at) })),
    };
  });
}
