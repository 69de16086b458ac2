import type { Store } from '@hermes-fleet/store';
import type { FastifyInstance } from 'fastify';
import { iso } from '../read-model/task-rows.ts';
import { highestHeadsIn } from '../read-model/trader.ts';
import { requireSecret } from './sign-in.ts';

/** `GET /api/audit/heads`, with the secret of the console: the highest head that it ever saw of each file. */
export interface AuditHeadsDocument {
  readonly heads: readonly {
    readonly service: string;
    readonly store: string;
    readonly seq: number;
    readonly hash: string;
    readonly at: string;
  }[];
}

/** `GET /api/audit/heads`: the console as a witness, for `fleet trader audit verify` (docs/console.md#a-witness-of-the-audit). */
export function registerAuditHeads(
  scope: FastifyInstance,
  { store, loginSecret }: { readonly store: Pick<Store, 'read'>; readonly loginSecret: string },
): void {
  scope.get('/api/audit/heads', { config: { withSecret: true } }, (request): AuditHeadsDocument => {
    requireSecret(request.headers.authorization, loginSecret);
    return {
      heads: store
        .read(highestHeadsIn)
        .map(({ service, store: file, seq, hash, at }) => ({ service, store: file, seq, hash, at: iso(at) })),
    };
  });
}
