import { randomUUID } from 'node:crypto';
import { lstat, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { A2AClient, PeerPart, PeerTask } from '@hermes-fleet/a2a/client';
import { FleetError, systemCode } from '@hermes-fleet/protocol';
import { MAX_ARTIFACT_PARTS } from '@hermes-fleet/protocol/ports';
import type { Reachable } from '../running/reachable.ts';
import { type ArtifactFile, artifactFiles } from './artifact-files.ts';
import { addedArtifacts } from './result.ts';

/** The most that a profile can be configured to keep of one artifact, and of all artifacts of a task (docs/configuration.md). */
const MAX_FILE_BYTES = 64 * 1024 * 1024;
const MAX_BYTES = 256 * 1024 * 1024;
const FETCH_MS = 120_000;

export interface SaveOptions {
  readonly client: Pick<A2AClient, 'file'>;
  readonly at: Reachable;
  /** Is created if it does not exist. */
  readonly folder: string;
  /** Replaces files that exist. */
  readonly force: boolean;
}

/** A file that was written. */
export interface SavedFile {
  readonly artifact: string;
  readonly path: string;
  readonly bytes: number;
}

/** A part that was not saved: the agent does not serve it, or it is too large. */
export interface LeftFile {
  readonly artifact: string;
  readonly name: string;
  readonly url: string | null;
  readonly reason: string;
}

/**
 * Writes each part of a task's artifacts into a file of the folder, and yields it when it is written whole. A part that the profile serves is fetched with the token,
 * which goes nowhere else. Nothing is written if a file exists, unless `force` replaces it; a symbolic link is a file that
 * exists, and is never followed. Throws INVALID_PARAMS for a folder that cannot be used, and PEER_UNREACHABLE.
 */
export async function* saveArtifacts(
  options: SaveOptions,
  task: PeerTask,
): AsyncGenerator<SavedFile | LeftFile, void> {
  const { folder, force, at } = options;
  const files = artifactFiles(addedArtifacts(task));
  if (files.length > MAX_ARTIFACT_PARTS)
    throw new FleetError(
      'PEER_REFUSED',
      `${at.name} has ${files.length} parts for the task: at most ${MAX_ARTIFACT_PARTS} can be saved`,
    );
  if (files.length === 0) return;
  await prepare(folder, files, force);
  let left = MAX_BYTES;
  for (const file of files) {
    const { artifact, name, part } = file;
    const path = join(folder, name);
    try {
      const bytes = await contentOf(options, task.id, part, Math.min(left, MAX_FILE_BYTES));
      left -= bytes.length;
      await write(path, bytes, force);
      yield { artifact, path, bytes: bytes.length };
    } catch (error) {
      if (!(error instanceof FleetError && error.code === 'PEER_REFUSED')) throw error;
      const url = (part.kind === 'file' && part.url) || null;
      yield { artifact, name, url, reason: error.message };
    }
  }
}

async function prepare(folder: string, files: readonly ArtifactFile[], force: boolean): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (cause) {
    throw unusable(folder, 'cannot be made', cause);
  }
  for (const { name } of files) {
    const path = join(folder, name);
    const found = await lstat(path).catch((cause: unknown) => {
      if (systemCode(cause) === 'ENOENT') return undefined;
      throw unusable(path, 'cannot be read', cause);
    });
    if (found?.isDirectory())
      throw new FleetError('INVALID_PARAMS', `${path} is a folder: nothing was saved`);
    if (found && !force)
      throw new FleetError('INVALID_PARAMS', `${path} exists: nothing was saved; --force replaces it`);
  }
}

async function contentOf(
  { client, at }: SaveOptions,
  taskId: string,
  part: PeerPart,
  maxBytes: number,
): Promise<Buffer> {
  const inline = inlineOf(part);
  if (inline === undefined) {
    const url = servedAt(at, taskId, (part.kind === 'file' && part.url) || '');
    return client.file(at.endpoint, url, { timeoutMs: FETCH_MS, maxBytes });
  }
  if (inline.length <= maxBytes) return inline;
  throw new FleetError('PEER_REFUSED', `it has ${inline.length} bytes, and ${maxBytes} can be saved`);
}

function inlineOf(part: PeerPart): Buffer | undefined {
  if (part.kind === 'text') return Buffer.from(part.text);
  if (part.kind === 'data') return Buffer.from(JSON.stringify(part.data));
  return part.base64 === undefined ? undefined : Buffer.from(part.base64, 'base64');
}

/**
 * Where a profile serves a part of its task. Its replies have its public address, which this machine may know by another
 * name, so the path is taken at the address that is called. Any other address stays as it is.
 */
function servedAt({ target, endpoint }: Reachable, taskId: string, url: string): string {
  const [path, id] = /\/artifacts\/([^/]+)\/\d+\/\d+$/.exec(URL.parse(url)?.pathname ?? '') ?? [];
  if (target === undefined || path === undefined || id !== encodeURIComponent(taskId)) return url;
  return new URL(`.${path}`, endpoint.url).href;
}

/** Writes a file whole, or not at all. */
async function write(path: string, bytes: Buffer, force: boolean): Promise<void> {
  // Both ways, no link is followed: `wx` opens none, and a rename takes the place of one.
  const written = force ? `${path}.${randomUUID()}` : path;
  try {
    await writeFile(written, bytes, { flag: 'wx' });
    if (force) await rename(written, path);
  } catch (cause) {
    if (systemCode(cause) !== 'EEXIST') await rm(written, { force: true });
    throw unusable(path, 'cannot be written', cause);
  }
}

const unusable = (path: string, what: string, cause: unknown): FleetError =>
  new FleetError('INVALID_PARAMS', `${path} ${what} (${systemCode(cause) ?? cause})`, { cause });
