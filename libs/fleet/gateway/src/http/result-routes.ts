import { createDownloads, MAX_AT_A_TIME } from '@hermes-fleet/a2a';
import type { Ledger } from '@hermes-fleet/ledger';
import type { PeerRegistry } from '@hermes-fleet/peers';
import { RESULT_ROUTES, RESULT_TYPES, type ResultPart } from '@hermes-fleet/protocol/api';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { requireScope } from '@hermes-fleet/service';
import { ownTask } from '@hermes-fleet/tasks';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Results } from '../results/results.ts';
import { readInput } from './read-input.ts';
import { sendContent } from './send-content.ts';

/** The longest time in which a part of a result is read and sent. */
const MAX_MS = 600_000;
/** Of an orchestrator, whose turns its callers share: four of them have all that a caller can have. */
const MAX_OF_PEER = 16;

const flag = z
  .enum(['true', 'false'], 'must be true or false, once')
  .default('false')
  .transform((given) => given === 'true');
/** Git knows no other bound of a path than that it has no NUL. */
const path = z.string('must be one path').regex(/^[^\0]+$/, 'must be a path in the repository');

const DiffQuery = z.strictObject({ path: path.optional(), stat: flag });
const FilePath = z
  .object({ '*': z.string() })
  .transform((params) => ({ path: params['*'] }))
  .pipe(z.object({ path }));
const NoQuery = z.strictObject({});
const BundleQuery = z.strictObject({ whole: flag });

/** Reads which part a request asks for. Throws INVALID_PARAMS that names the wrong fields. */
const PARTS: Readonly<Record<ResultPart['kind'], (params: unknown, query: unknown) => ResultPart>> = {
  diff: (_params, query) => ({ kind: 'diff', ...readInput('the query is', DiffQuery, query) }),
  file(params, query) {
    readInput('the query is', NoQuery, query);
    return { kind: 'file', ...readInput('the address is', FilePath, params) };
  },
  bundle: (_params, query) => ({ kind: 'bundle', ...readInput('the query is', BundleQuery, query) }),
};

export interface ResultRoutesOptions {
  readonly results: Results;
  readonly ledger: Pick<Ledger, 'get'>;
  readonly peers: Pick<PeerRegistry, 'list'>;
  readonly clock: Clock;
}

/**
 * The routes that serve the result of a task of the caller, also of one that a peer did (docs/operations.md#read-a-result). They
 * need the scope `read`.
 */
export function registerResultRoutes(
  app: FastifyInstance,
  { results, ledger, peers, clock }: ResultRoutesOptions,
): void {
  const isPeer = (caller: string): boolean => peers.list().some(({ name }) => name === caller);
  const limitOf = (caller: string): number => (isPeer(caller) ? MAX_OF_PEER : MAX_AT_A_TIME);
  const begin = createDownloads({ clock, maxMs: MAX_MS, limitOf });
  // A client that asked for the head only would have the whole read for it.
  for (const kind of ['diff', 'file', 'bundle'] as const)
    app.get<{ Params: { id: string } }>(
      RESULT_ROUTES[kind],
      { exposeHeadRoute: false },
      async (request, reply) => {
        requireScope(request.caller, 'read');
        const part = PARTS[kind](request.params, request.query);
        const task = ownTask(ledger, request.params.id, request.caller);
        return await sendContent(reply, RESULT_TYPES[kind], await begin(request, reply), (signal) =>
          results.open(task, part, signal),
        );
      },
    );
}
