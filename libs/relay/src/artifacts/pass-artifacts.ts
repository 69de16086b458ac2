import {
  type A2AClient,
  isAtPeer,
  type PeerArtifact,
  type PeerEndpoint,
  type PeerPart,
  type PeerTask,
} from '@hermes-fleet/a2a';
import {
  type ArtifactPart,
  FleetError,
  type JsonValue,
  type Log,
  MAX_ARTIFACT_CHUNKS,
  MAX_ARTIFACT_NAME,
  RESERVED_ARTIFACTS,
  type RunContext,
} from '@hermes-fleet/protocol';
import { beyond, type Content, contentOf, merged } from './continuation.ts';

const FILE_TIMEOUT_MS = 30_000;
const FILE_TRIES = 3;
/** Above this number of chunks only whole artifacts are stored, so that an agent that sends words does not use up the limit. */
const MANY_CHUNKS = MAX_ARTIFACT_CHUNKS / 2;

export interface PassOptions {
  readonly context: Pick<RunContext, 'artifacts' | 'report' | 'signal'>;
  readonly client: Pick<A2AClient, 'file'>;
  readonly endpoint: PeerEndpoint;
  /** The peer speaks the handshake: files to which it refers at its own address are stored here. */
  readonly isMember: boolean;
  readonly traceparent: string | undefined;
  readonly log: Log;
}

/** What is stored of one artifact of the peer. */
interface Standing {
  readonly content: readonly Content[];
  readonly chunks: number;
  readonly isComplete: boolean;
}

/**
 * Returns a function that stores what the artifacts of a peer's task have beyond what is stored (docs/handshake.md#artifacts),
 * from any state of the task: after a crash or a dropped stream, nothing is stored twice. An artifact that is not valid, or
 * exceeds a limit, is left out from there on with an `alert`; the task goes on.
 */
export function createPassArtifacts(
  options: PassOptions,
): (task: Pick<PeerTask, 'artifacts'>) => Promise<void> {
  const { context, log, endpoint } = options;
  const { artifacts } = context;
  const known = new Map<string, Standing>();
  const refused = new Set<string>();
  let chunks = 0;

  function standingOf(id: string): Standing {
    const standing = known.get(id);
    if (standing) return standing;
    const stored = artifacts?.find(id) ?? [];
    chunks += stored.length;
    const parts = stored.flatMap((chunk) => chunk.parts);
    return {
      content: contentOf(merged(parts)),
      chunks: stored.length,
      isComplete: stored.at(-1)?.isLast ?? false,
    };
  }

  async function pass(artifact: PeerArtifact): Promise<void> {
    const { id, name, description, isComplete: isLast = false } = artifact;
    const theirs = merged(artifact.parts);
    const before = standingOf(id);
    known.set(id, before);
    const more = beyond(before.content, theirs);
    const replaces = before.chunks > 0 && (more === undefined || (before.isComplete && more.length > 0));
    const added = replaces || more === undefined ? theirs : more;
    if (added.length === 0 || (chunks >= MANY_CHUNKS && !isLast)) return;
    const parts: ArtifactPart[] = [];
    for (const part of added) parts.push(await partOf(options, part));
    await artifacts?.add({
      id,
      place: before.chunks,
      ...(name === undefined ? {} : { name: short(name) }),
      ...(description === undefined ? {} : { description: short(description) }),
      parts,
      replaces,
      isLast,
    });
    chunks += 1;
    known.set(id, { content: contentOf(theirs), chunks: before.chunks + 1, isComplete: isLast });
  }

  return async (task) => {
    if (!artifacts) return;
    for (const artifact of task.artifacts) {
      const { id } = artifact;
      if (RESERVED_ARTIFACTS.has(id) || refused.has(id)) continue;
      try {
        await pass(artifact);
      } catch (error) {
        if (context.signal.aborted || !(error instanceof FleetError) || !REFUSALS.has(error.code))
          throw error;
        log.warn({ peer: endpoint.name, artifact: short(id), err: error }, 'artifact of a peer is left out');
        // A hostile peer must not fill the log of the task.
        if (refused.size === 0)
          await context.report({
            type: 'alert',
            data: { reason: 'artifact_refused', peer: endpoint.name, error: error.code.toLowerCase() },
          });
        refused.add(id);
        if (refused.size > MAX_ARTIFACT_CHUNKS) return;
      }
    }
  };
}

/** The errors of an artifact that the next try would have too. */
const REFUSALS: ReadonlySet<string> = new Set([
  'ARTIFACT_TOO_LARGE',
  'INVALID_PARAMS',
  'PEER_REFUSED',
  'PEER_UNREACHABLE',
]);

async function partOf(options: PassOptions, part: PeerPart): Promise<ArtifactPart> {
  const mediaType = part.mediaType === undefined ? {} : { mediaType: short(part.mediaType) };
  if (part.kind === 'text') return { kind: 'text', text: part.text, ...mediaType };
  if (part.kind === 'data') return { kind: 'data', data: jsonOf(part.data), ...mediaType };
  const named = { ...mediaType, ...(part.name === undefined ? {} : { name: short(part.name) }) };
  const { base64, url = '' } = part;
  if (base64 !== undefined) return { kind: 'file', base64, ...named };
  if (!options.isMember || !isAtPeer(options.endpoint, url)) return { kind: 'link', url, ...named };
  return { kind: 'file', base64: (await download(options, url)).toString('base64'), ...named };
}

/** Data of a peer, which may be nested more deeply than it can be written. */
function jsonOf(data: unknown): JsonValue {
  try {
    return JSON.parse(JSON.stringify(data));
  } catch (cause) {
    throw new FleetError('INVALID_PARAMS', 'data of an artifact cannot be stored', { cause });
  }
}

/** A file of a peer, which is asked again if it does not answer. */
async function download(options: PassOptions, url: string): Promise<Buffer> {
  const { client, endpoint, context, traceparent } = options;
  const call = {
    timeoutMs: FILE_TIMEOUT_MS,
    signal: context.signal,
    traceparent,
    maxBytes: context.artifacts?.maxBytes ?? 0,
  };
  for (let tries = 1; ; tries += 1) {
    try {
      return await client.file(endpoint, url, call);
    } catch (error) {
      const isFinal = !(error instanceof FleetError) || !error.retryable || tries === FILE_TRIES;
      if (isFinal || context.signal.aborted) throw error;
    }
  }
}

const short = (text: string): string => text.slice(0, MAX_ARTIFACT_NAME);
