import type { Ledger } from '@hermes-fleet/ledger';
import { FleetError } from '@hermes-fleet/protocol';
import type { FastifyInstance } from 'fastify';
import type { PartUrl } from '../wire/artifact-view.ts';
import { mediaTypeOf } from '../wire/artifact-view.ts';

interface Params {
  readonly taskId: string;
  readonly seq: string;
  readonly part: string;
}

/** Where a part of a task's artifact is served, beside the agent's JSON-RPC URL. */
export function partUrlAt(rpcUrl: () => string, taskId: string): PartUrl {
  return ({ seq }, index) =>
    new URL(`artifacts/${encodeURIComponent(taskId)}/${seq}/${index}`, rpcUrl()).href;
}

/**
 * Serves GET /artifacts/<task>/<event>/<part>: the content of a part to which replies refer (docs/handshake.md#artifacts).
 * Only the task's caller gets it, with the scope `read`; for all others the task is unknown. A browser saves the content:
 * what an agent wrote must not run with the origin of the profile.
 */
export function registerArtifactRoute(app: FastifyInstance, ledger: Ledger): void {
  app.get<{ Params: Params }>('/artifacts/:taskId/:seq/:part', (request, reply) => {
    const { caller, params } = request;
    if (!caller.scopes.has('read'))
      throw new FleetError('FORBIDDEN', `caller "${caller.name}" lacks the scope "read" that artifacts need`);
    const part = ledger.get(params.taskId)?.caller === caller.name ? findPart(ledger, params) : undefined;
    if (part === undefined || part.kind === 'link')
      throw new FleetError(
        'TASK_NOT_FOUND',
        'there is no such artifact: read the task again for its artifacts',
      );
    const mediaType = part.mediaType || mediaTypeOf(part);
    reply.headers({
      'content-type': isPlain(mediaType) ? mediaType : 'application/octet-stream',
      'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(nameOf(part))}`,
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, no-store',
    });
    return reply.send(contentOf(part));
  });
}

type ServedPart = NonNullable<ReturnType<typeof findPart>>;

function findPart(ledger: Ledger, { taskId, seq, part }: Params) {
  const isNumber = (text: string): boolean => /^\d{1,15}$/.test(text);
  if (!isNumber(seq) || !isNumber(part)) return undefined;
  return ledger.artifactPart({ taskId, seq: Number(seq) }, Number(part));
}

function contentOf(part: Exclude<ServedPart, { kind: 'link' }>): Buffer {
  switch (part.kind) {
    case 'text':
      return Buffer.from(part.text);
    case 'data':
      return Buffer.from(JSON.stringify(part.data));
    case 'file':
      return Buffer.from(part.base64, 'base64');
  }
}

/** A name without lone surrogates, which no header can have. */
const nameOf = (part: ServedPart): string =>
  ('name' in part && part.name ? part.name : 'artifact').toWellFormed();

const isPlain = (mediaType: string): boolean => /^[\w.+-]+\/[\w.+-]+(; ?[\w-]+=[\w-]+)*$/.test(mediaType);
