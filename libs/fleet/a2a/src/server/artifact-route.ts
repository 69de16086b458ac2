import type { Ledger } from '@hermes-fleet/ledger';
import { FleetError } from '@hermes-fleet/protocol';
import type { ArtifactPart, Clock } from '@hermes-fleet/protocol/ports';
import type { FastifyInstance } from 'fastify';
import type { PartUrl } from '../wire/artifact-view.ts';
import { mediaTypeOf } from '../wire/artifact-view.ts';
import { createDownloads, DOWNLOAD_HEADERS } from './downloads.ts';

/** The longest time for one, which is in memory until its client has read it. */
const MAX_MS = 120_000;

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
 * Only the task's caller gets it, with the scope `read`; for all others the task is unknown.
 */
export function registerArtifactRoute(
  app: FastifyInstance,
  { ledger, clock }: { readonly ledger: Ledger; readonly clock: Clock },
): void {
  const begin = createDownloads({ clock, maxMs: MAX_MS });
  app.get<{ Params: Params }>('/artifacts/:taskId/:seq/:part', async (request, reply) => {
    const { caller, params } = request;
    if (!caller.scopes.has('read'))
      throw new FleetError('FORBIDDEN', `caller "${caller.name}" lacks the scope "read" that artifacts need`);
    const address = addressOf(params);
    if (address === undefined || ledger.get(params.taskId)?.caller !== caller.name) throw unknownArtifact();
    if ((await begin(request, reply)) === undefined) return reply;
    const part = ledger.artifactPart(address, address.part);
    if (part === undefined || part.kind === 'link') throw unknownArtifact();
    const mediaType = part.mediaType || mediaTypeOf(part);
    reply.headers({
      'content-type': isPlain(mediaType) ? mediaType : 'application/octet-stream',
      ...DOWNLOAD_HEADERS,
      'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(nameOf(part))}`,
    });
    return reply.send(contentOf(part));
  });
}

type ServedPart = Exclude<ArtifactPart, { kind: 'link' }>;

const unknownArtifact = (): FleetError =>
  new FleetError('TASK_NOT_FOUND', 'there is no such artifact: read the task again for its artifacts');

function addressOf({ taskId, seq, part }: Params) {
  const isNumber = (text: string): boolean => /^\d{1,15}$/.test(text);
  return isNumber(seq) && isNumber(part) ? { taskId, seq: Number(seq), part: Number(part) } : undefined;
}

function contentOf(part: ServedPart): Buffer {
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
