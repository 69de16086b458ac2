import { open } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { createDownloads } from '@hermes-fleet/a2a';
import { FleetError } from '@hermes-fleet/protocol';
import { BUNDLE_ROUTES, BUNDLE_TYPE, REPOSITORIES, type TakenBundle } from '@hermes-fleet/protocol/api';
import { RepositoryName } from '@hermes-fleet/protocol/handshake';
import {
  type Clock,
  type KeptBundle,
  type RepositoryBundles,
  raceSignal,
} from '@hermes-fleet/protocol/ports';
import { leaveUnread, requireScope, serve } from '@hermes-fleet/service';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type Checkouts, capacityIfFull } from '../checkouts/checkouts.ts';
import { readInput } from './read-input.ts';
import { sendContent } from './send-content.ts';

/** The longest time in which a bundle arrives, is sent, or is sent without a byte. */
const UPLOAD_MS = 3_600_000;
const DOWNLOAD_MS = 1_800_000;
const IDLE_MS = 60_000;
/** How many bundles a caller may be sending at a time. */
const MAX_UPLOADS = 2;
const MAX_SENT = 1000;

const Commit = z
  .string('must be one commit')
  .regex(/^[0-9a-f]{40}$/, 'must be a commit, as 40 digits of hex');
const Upload = z.strictObject({
  sha256: z.string('must be one SHA-256').regex(/^[0-9a-f]{64}$/, 'must be a SHA-256, as 64 digits of hex'),
  commit: Commit,
  repository: RepositoryName.optional(),
});
const List = z.object({ context: z.string('must be one context').optional() });
const OfTask = z.strictObject({ commit: Commit.optional() });

export interface RepositoryRoutesOptions {
  readonly checkouts: Checkouts;
  readonly clock: Clock;
}

/** The routes of repositories and callers' checkouts (docs/operations.md#checkouts). */
export function registerRepositoryRoutes(
  app: FastifyInstance,
  { checkouts, clock }: RepositoryRoutesOptions,
): void {
  const { bundles, repositories } = checkouts;
  serve(app, REPOSITORIES.list, async ({ caller, query }) => {
    requireScope(caller, 'dispatch');
    const { context: id } = readInput('the query is', List, query);
    const context = id === undefined ? undefined : checkouts.ofContext(id, caller.name);
    if (bundles === undefined) return { repositories, context };
    const kept = await bundles.sent(caller.name);
    const sent = kept
      .filter(({ chain }) => chain <= MAX_CHAIN)
      .slice(0, MAX_SENT)
      .map(sentView);
    return { repositories, context, bundles: { max_bytes: bundles.maxBytes, sent } };
  });
  registerDownload(app, checkouts, clock);
  if (bundles !== undefined) app.register(async (scope) => registerUpload(scope, bundles, clock));
}

/** What builds on a longer chain is not offered: each context would need all of it, so that it could never be removed. */
const MAX_CHAIN = 50;

const sentView = ({ fromRepository: from_repository, chain: _chain, ...sent }: KeptBundle) => ({
  ...sent,
  from_repository,
});

/** The worker of a task is let in by the token of the task, whoever it is for this profile. */
function registerDownload(app: FastifyInstance, checkouts: Checkouts, clock: Clock): void {
  const begin = createDownloads({ clock, maxMs: DOWNLOAD_MS });
  const idOf = (params: unknown): string => z.object({ id: z.string() }).parse(params).id;
  app.get(
    BUNDLE_ROUTES.ofTask,
    {
      exposeHeadRoute: false,
      config: {
        authenticate({ params, headers }) {
          const { id } = checkouts.taskOf(idOf(params), headers.authorization);
          return { name: `the worker of task ${id}`, scopes: new Set() };
        },
      },
    },
    async (request, reply) => {
      const { commit } = readInput('the query is', OfTask, request.query);
      const task = checkouts.taskOf(idOf(request.params), request.headers.authorization);
      return await sendContent(reply, BUNDLE_TYPE, await begin(request, reply), (signal) =>
        checkouts.open(task, commit, signal),
      );
    },
  );
}

/** Takes bundles as they arrive, into a file and never into memory. `app` takes nothing else. */
function registerUpload(app: FastifyInstance, bundles: RepositoryBundles, clock: Clock): void {
  const { maxBytes } = bundles;
  const uploading = new Map<string, number>();
  const count = (caller: string, change: number): void => {
    const now = (uploading.get(caller) ?? 0) + change;
    if (now === 0) uploading.delete(caller);
    else uploading.set(caller, now);
  };
  leaveUnread(app, BUNDLE_TYPE);
  app.post(BUNDLE_ROUTES.upload, { config: { longBody: true } }, async (request, reply) => {
    const { caller, raw } = request;
    requireScope(caller, 'dispatch');
    const { sha256: bundle, ...sent } = readInput('the query is', Upload, request.query);
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
    if ((uploading.get(caller.name) ?? 0) >= MAX_UPLOADS)
      throw new FleetError(
        'TOO_MANY_STREAMS',
        `caller "${caller.name}" sends ${MAX_UPLOADS} bundles already: send this one when one of them is done`,
        { retryAfterS: 5 },
      );
    const left = new AbortController();
    reply.raw.once('close', () => left.abort(GONE));
    count(caller.name, 1);
    try {
      await using receiving = await bundles.receiving();
      const bytes = await receive(raw, receiving.file, { maxBytes, clock, signal: left.signal });
      await bundles.take(caller.name, { bundle, ...sent }, receiving.file, left.signal);
      return reply.send({ bundle, commit: sent.commit, bytes } satisfies z.output<typeof TakenBundle>);
    } catch (error) {
      if (!left.signal.aborted) throw error;
      return reply.hijack();
    } finally {
      count(caller.name, -1);
    }
  });
}

const GONE = new Error('the client has left');

const tooLarge = (maxBytes: number): FleetError =>
  new FleetError(
    'BODY_TOO_LARGE',
    `the bundle is larger than ${maxBytes} bytes: send a part of the history first, or let the base come from a configured repository`,
  );

/** Writes a body to a new file, and returns its size. Its connection stays for the answer. Throws BODY_TOO_LARGE, REQUEST_TIMEOUT, CAPACITY, and the signal's reason. */
async function receive(
  body: IncomingMessage,
  file: string,
  {
    maxBytes,
    clock,
    signal,
  }: { readonly maxBytes: number; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<number> {
  const slow = new AbortController();
  const ending = AbortSignal.any([signal, slow.signal]);
  const within = (ms: number, why: string): Disposable =>
    clock.timer(() => slow.abort(new FleetError('REQUEST_TIMEOUT', `the bundle ${why}: send it again`)), ms);
  using _whole = within(UPLOAD_MS, `was not complete after ${UPLOAD_MS / 60_000} minutes`);
  const chunks: AsyncIterator<Buffer> = body.iterator({ destroyOnReturn: false });
  let bytes = 0;
  try {
    await using handle = await open(file, 'wx', 0o600);
    for (;;) {
      using _waiting = within(IDLE_MS, `stopped for ${IDLE_MS / 1000} s`);
      // Promise.race with one promise for all chunks would keep each of them.
      const { done, value } = await raceSignal(chunks.next(), ending);
      if (done) return bytes;
      bytes += value.length;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      await handle.appendFile(value);
    }
  } catch (error) {
    ending.throwIfAborted();
    throw capacityIfFull(error);
  }
}
