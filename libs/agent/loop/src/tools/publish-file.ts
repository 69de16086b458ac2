import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { FleetError, mediaTypeOfName } from '@hermes-fleet/protocol';
import {
  type ArtifactChunk,
  MAX_ARTIFACT_NAME,
  type TaskArtifacts,
  ToolError,
} from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import type { AgentTool } from '../run/conversation.ts';
import { defineFileTool } from '../run/tool.ts';
import { readWhole } from './files/text-file.ts';

/** `publish_file` hands a file of the workspace to the caller of the task, as an artifact (docs/agent.md#products). */
export function publishFileTool(): AgentTool {
  return defineFileTool({
    name: 'publish_file',
    description:
      'Hand a file to the caller as a product: a report, an image, an archive. The caller gets changes of the project anyway. Publishing a path again replaces it.',
    mutates: false,
    repeatable: true,
    isConcurrent: false,
    inputSchema: z.strictObject({
      path: z.string(),
      description: z.string().max(MAX_ARTIFACT_NAME).optional(),
      media_type: z
        .string()
        .max(MAX_ARTIFACT_NAME)
        .regex(/^[\w.+-]+\/[\w.+-]+$/, 'must be a media type such as text/csv')
        .optional(),
    }),
    async run({ path, description, media_type }, { files, artifacts }) {
      if (artifacts === undefined)
        throw new ToolError('this work is a part of another task, which has no products of its own');
      const name = files.normalize(path);
      await using file = await files.openFile(path, 'read');
      const instead = `at most ${artifacts.maxBytes} can be published; tell the caller where it is`;
      const bytes = await readWhole(file, artifacts.maxBytes, instead);
      const mediaType = media_type ?? mediaTypeOf(name, bytes);
      await publish(artifacts, { name, bytes, mediaType, description });
      const output = { published: name, bytes: bytes.length, media_type: mediaType };
      return { ok: true, output, detail: name };
    },
  });
}

interface Product {
  readonly name: string;
  readonly bytes: Buffer;
  readonly mediaType: string;
  readonly description: string | undefined;
}

/** How often a file is published anew because a sub-agent has published the same path meanwhile. */
const MAX_TRIES = 5;

/** Adds the file unless it is the last that was published at its path: a crash may repeat the call. */
async function publish(artifacts: TaskArtifacts, product: Product): Promise<void> {
  const id = idOf(product.name);
  const base64 = product.bytes.toString('base64');
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const stored = artifacts.findArtifact(id);
    if (isSame(stored.at(-1), product, base64)) return;
    if (await add(artifacts, { ...product, id, base64, place: stored.length })) return;
  }
  throw new ToolError('the file is not published: the task has ended, or others publish the same path');
}

function isSame(last: ArtifactChunk | undefined, product: Product, base64: string): boolean {
  const part = last?.parts[0];
  if (part?.kind !== 'file' || part.base64 !== base64) return false;
  return part.mediaType === product.mediaType && last?.description === product.description;
}

async function add(
  artifacts: TaskArtifacts,
  chunk: Product & { readonly id: string; readonly base64: string; readonly place: number },
): Promise<boolean> {
  const { id, place, name, base64, mediaType, description } = chunk;
  const part = { kind: 'file', base64, name: basename(name).slice(0, MAX_ARTIFACT_NAME), mediaType } as const;
  try {
    return await artifacts.add({
      id,
      place,
      name: name.slice(-MAX_ARTIFACT_NAME),
      ...(description === undefined ? {} : { description }),
      parts: [part],
      replaces: place > 0,
      isLast: true,
    });
  } catch (error) {
    if (error instanceof FleetError && error.code === 'ARTIFACT_TOO_LARGE')
      throw new ToolError(`${error.message}; publish less, and tell the caller where the rest is`);
    throw error;
  }
}

function idOf(name: string): string {
  const id = `file:${name}`;
  return id.length <= MAX_ARTIFACT_NAME ? id : `file:${createHash('sha256').update(name).digest('hex')}`;
}

function mediaTypeOf(name: string, bytes: Buffer): string {
  const isText = !bytes.includes(0) && isUtf8(bytes);
  return mediaTypeOfName(name) ?? (isText ? 'text/plain' : 'application/octet-stream');
}
