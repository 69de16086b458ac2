import { Readable } from 'node:stream';
import type { Service } from '@hermes-fleet/net/api';
import { FleetError } from '@hermes-fleet/protocol';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type ArtifactPart, readContent, type TaskContent } from '../profiles/content.ts';
import { serviceFor } from './actions.ts';
import type { ApiOptions } from './options.ts';
import { readInput } from './query.ts';
import type { TaskParams } from './task-page.ts';

/** Longer text is for the download only. */
const MAX_SHOWN_BYTES = 64 * 1024;
const DOWNLOAD_MS = 120_000;

const GET_TASK = { method: 'GetTask', answer: z.looseObject({}) };
const PartQuery = z.strictObject({
  part: z
    .string()
    .regex(/^\d{1,6}$/, 'must be a number')
    .default('0'),
});

/**
 * `GET /api/tasks/:profile/:id/content` and the artifacts beside it: what the profile itself answers to the session's token.
 * An artifact is a download and nothing else, because what an agent wrote must not run with the origin of the console.
 */
export function registerContent(scope: FastifyInstance, options: ApiOptions): void {
  const read = async (service: Service, id: string): Promise<TaskContent> =>
    readContent(await options.client.rpc(service, GET_TASK, { id }));
  scope.get<{ Params: TaskParams }>('/api/tasks/:profile/:id/content', async (request) => {
    const { params } = request;
    return contentDocument(params, await read(serviceFor(request, params.profile, options), params.id));
  });
  scope.get<{ Params: TaskParams & { readonly artifact: string } }>(
    '/api/tasks/:profile/:id/artifacts/:artifact',
    async (request, reply) => {
      const { profile, id, artifact } = request.params;
      const service = serviceFor(request, profile, options);
      const index = Number(readInput(PartQuery, request.query).part);
      const { artifacts } = await read(service, id);
      const part = artifacts.find((each) => each.artifactId === artifact && each.index === index);
      if (!part || (part.bytes === null && part.path === null))
        throw new FleetError('NOT_FOUND', 'the task has no such artifact: read its content again');
      const name = part.name.slice(0, 200).toWellFormed();
      reply.headers({
        'content-type': 'application/octet-stream',
        'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(name)}`,
        'content-security-policy': "default-src 'none'; sandbox",
      });
      if (part.bytes !== null) return await reply.send(part.bytes);
      const { body } = await options.client.download(service, part.path ?? '', { timeoutMs: DOWNLOAD_MS });
      return await reply.send(body === null ? '' : Readable.fromWeb(body as never));
    },
  );
}

const contentDocument = (params: TaskParams, { artifacts, ...content }: TaskContent) => ({
  ...content,
  artifacts: artifacts.map((part) => shown(params, part)),
});

/** `GET /api/tasks/:profile/:id/content`, with the session's token: what the profile itself answers. */
export type ContentDocument = ReturnType<typeof contentDocument>;

function shown(
  { profile, id }: TaskParams,
  { artifactId, index, name, mediaType, bytes, isText, path, link }: ArtifactPart,
) {
  const at = [profile, id].map(encodeURIComponent).join('/');
  const href = `/api/tasks/${at}/artifacts/${encodeURIComponent(artifactId)}?part=${index}`;
  const isShown = isText && bytes !== null && bytes.length <= MAX_SHOWN_BYTES;
  return {
    name,
    media_type: mediaType,
    bytes: bytes?.length ?? null,
    text: isShown ? bytes.toString('utf8') : link,
    href: bytes === null && path === null ? null : href,
  };
}
