import { isAtPeer, type PeerArtifact, type PeerPart, type PeerTask } from '@hermes-fleet/a2a';
import { backoffMs, FleetError, type JsonValue } from '@hermes-fleet/protocol';
import {
  type ArtifactChunk,
  type ArtifactPart,
  type Log,
  MAX_ARTIFACT_CHUNKS,
  RESERVED_ARTIFACTS,
  type RunContext,
} from '@hermes-fleet/protocol/ports';
import { beyond, type Content, contentOf, digestOf, labelsOf, merged, short } from './continuation.ts';
import {
  createPatience,
  type Fetching,
  type FetchOptions,
  fetchPatiently,
  type Patience,
} from './fetch-patiently.ts';

/** The pause before a file is asked for again that its peer did not serve while the task goes on. */
const FILE_PAUSE = { firstMs: 1_000, longestMs: 30_000 };
/** Above this number of chunks only whole artifacts are stored, so that an agent that sends words does not use up the limit. */
const MANY_CHUNKS = MAX_ARTIFACT_CHUNKS / 2;

export interface PassOptions extends FetchOptions {
  readonly context: Pick<RunContext, 'artifacts' | 'reportEvent' | 'signal'>;
  /** The peer speaks the handshake: files to which it refers at its own address are stored here. */
  readonly isMember: boolean;
  readonly log: Log;
}

/** What is stored of one artifact of the peer. */
interface Standing {
  readonly content: readonly Content[];
  readonly description: string | undefined;
  readonly chunks: number;
  readonly isComplete: boolean;
  /** The digests of the files that the peer showed last, by their URL or inline content. */
  readonly digests: ReadonlyMap<string, string>;
}

/** A part of the peer, with the content of a file that was fetched to compare it. */
type TheirPart = Content & { readonly base64?: string; readonly source?: string };

/** Why an artifact is not stored as the peer showed it last. */
interface Missing {
  readonly error: FleetError;
  /** The files to which the artifact referred: with other ones, it is another artifact. */
  readonly urls: string;
  readonly failures: number;
  /** The time before which a peer that was away is not asked again, while its task goes on (monotonic). */
  readonly notBefore: number;
}

/**
 * Returns a function that stores what the artifacts of a peer's task have beyond what is stored (docs/handshake.md#artifacts),
 * from any state of the task: after a crash or a dropped stream, nothing is stored twice. An artifact that is not valid, or
 * exceeds a limit, is left out with an `alert` until it refers to other files; the task goes on. A file that the peer does not
 * serve now is fetched at a later state, or its artifact is left out with an `alert` when the task has ended.
 */
export function createPassArtifacts(
  options: PassOptions,
): (task: Pick<PeerTask, 'artifacts' | 'terminal'>) => Promise<void> {
  const { context, log, endpoint, clock, random } = options;
  const { artifacts } = context;
  const known = new Map<string, Standing>();
  const missing = new Map<string, Missing>();
  let chunks = 0;
  let refusals = 0;
  let isAlerted = false;

  function standingOf(id: string): Standing {
    const standing = known.get(id);
    if (standing) return standing;
    const stored = artifacts?.findArtifact(id) ?? [];
    chunks += stored.length;
    const standingNow = {
      content: merged(stored.flatMap(({ parts }) => parts.map(contentOf))),
      description: descriptionOf(stored),
      chunks: stored.length,
      isComplete: stored.at(-1)?.isLast ?? false,
      digests: new Map<string, string>(),
    };
    known.set(id, standingNow);
    return standingNow;
  }

  async function pass(artifact: PeerArtifact, patience: Patience | undefined): Promise<void> {
    const { id, name, isComplete: isLast = false } = artifact;
    const description = artifact.description === undefined ? undefined : short(artifact.description);
    const before = standingOf(id);
    if (chunks >= MANY_CHUNKS && !isLast) return;
    const fetching: Fetching = { patience, leftBytes: artifacts?.maxBytes ?? 0 };
    const theirs: TheirPart[] = [];
    const digests = new Map<string, string>();
    for (const part of artifact.parts) {
      const their = await theirPart(options, part, before.digests, fetching);
      if (their.kind === 'file' && their.source !== undefined) digests.set(their.source, their.digest);
      theirs.push(their);
    }
    const more = beyond(before.content, theirs);
    // A stream may leave a description out, so only another one counts.
    const isRedescribed = isLast && description !== undefined && description !== before.description;
    const replaces =
      before.chunks > 0 && (more === undefined || isRedescribed || (before.isComplete && more.length > 0));
    const added = replaces || more === undefined ? theirs : more;
    if (added.length === 0) {
      known.set(id, { ...before, digests });
      return;
    }
    const parts: ArtifactPart[] = [];
    for (const part of added) parts.push(await partOf(options, part, fetching));
    await artifacts?.add({
      id,
      place: before.chunks,
      ...(name === undefined ? {} : { name: short(name) }),
      ...(description === undefined ? {} : { description }),
      parts,
      replaces,
      isLast,
    });
    chunks += 1;
    const content = merged(theirs.map(({ base64: _base64, source: _source, ...each }) => each));
    known.set(id, {
      content,
      description: replaces ? description : (before.description ?? description),
      chunks: before.chunks + 1,
      isComplete: isLast,
      digests,
    });
  }

  async function alert({ code }: FleetError): Promise<void> {
    // A hostile peer must not fill the log of the task.
    if (isAlerted) return;
    isAlerted = true;
    const error = code.toLowerCase();
    await context.reportEvent({
      type: 'alert',
      data: { reason: 'artifact_refused', peer: endpoint.name, error },
    });
  }

  async function leaveOut(artifact: PeerArtifact, error: FleetError): Promise<void> {
    const { id } = artifact;
    log.warn({ peer: endpoint.name, artifact: short(id), err: error }, 'artifact of a peer is left out');
    refusals += 1;
    const failures = (missing.get(id)?.failures ?? 0) + 1;
    const notBefore = clock.monotonic() + backoffMs(failures, { ...FILE_PAUSE, random });
    missing.set(id, { error, urls: urlsOf(artifact), failures, notBefore });
    if (!OF_A_FILE.has(error.code)) await alert(error);
  }

  /** True if the artifact would fail again as it did. */
  function isHopeless(artifact: PeerArtifact, hasEnded: boolean): boolean {
    const last = missing.get(artifact.id);
    if (last?.urls !== urlsOf(artifact)) return false;
    return last.error.retryable ? !hasEnded && clock.monotonic() < last.notBefore : true;
  }

  return async ({ artifacts: shown, terminal }) => {
    if (!artifacts) return;
    const patience = terminal ? createPatience(options) : undefined;
    for (const artifact of shown) {
      const { id } = artifact;
      if (RESERVED_ARTIFACTS.has(id) || isHopeless(artifact, terminal)) continue;
      if (refusals > MAX_ARTIFACT_CHUNKS) break;
      try {
        await pass(artifact, patience);
        missing.delete(id);
      } catch (error) {
        if (context.signal.aborted || !(error instanceof FleetError) || !REFUSALS.has(error.code))
          throw error;
        await leaveOut(artifact, error);
      }
    }
    const [left] = missing.values();
    if (terminal && left) await alert(left.error);
  };
}

/** The errors of a file that its peer does not serve: the next state of the artifact may have another one. */
const OF_A_FILE: ReadonlySet<string> = new Set(['PEER_REFUSED', 'PEER_UNREACHABLE']);

/** The errors of an artifact with which its task goes on. */
const REFUSALS: ReadonlySet<string> = new Set([...OF_A_FILE, 'ARTIFACT_TOO_LARGE', 'INVALID_PARAMS']);

/** The description that an artifact with these chunks has. */
function descriptionOf(chunks: readonly ArtifactChunk[]): string | undefined {
  const from = chunks.findLastIndex(({ replaces }) => replaces);
  return chunks.slice(Math.max(from, 0)).find(({ description }) => description !== undefined)?.description;
}

const urlsOf = ({ parts }: PeerArtifact): string =>
  parts.map((part) => (part.kind === 'file' ? (part.url ?? '') : '')).join('\n');

/** A part of the peer as content. A file to which it refers for the first time is fetched, because its URL does not tell what is stored. */
async function theirPart(
  options: PassOptions,
  part: PeerPart,
  digests: ReadonlyMap<string, string>,
  fetching: Fetching,
): Promise<TheirPart> {
  const labels = labelsOf(part);
  if (part.kind === 'text') return { kind: 'text', text: part.text, ...labels };
  if (part.kind === 'data') return { kind: 'data', data: part.data, ...labels };
  const { base64: inline, url = '' } = part;
  if (inline === undefined && (!options.isMember || !isAtPeer(options.endpoint, url)))
    return { kind: 'link', url, ...labels };
  const source = inline ?? url;
  const digest = digests.get(source);
  if (digest !== undefined)
    return { kind: 'file', digest, source, ...(inline === undefined ? {} : { base64: inline }), ...labels };
  const base64 = inline ?? (await fetchPatiently(options, url, fetching));
  return { kind: 'file', digest: digestOf(base64), source, base64, ...labels };
}

/** A part of the peer as it is stored. */
async function partOf(options: PassOptions, part: TheirPart, fetching: Fetching): Promise<ArtifactPart> {
  if (part.kind === 'file') {
    const base64 = part.base64 ?? (await fetchPatiently(options, part.source ?? '', fetching));
    return { kind: 'file', base64, ...labelsOf(part) };
  }
  return part.kind === 'data' ? { kind: 'data', data: jsonOf(part.data), ...labelsOf(part) } : part;
}

/** Data of a peer, which may be nested more deeply than it can be written. */
function jsonOf(data: unknown): JsonValue {
  try {
    return JSON.parse(JSON.stringify(data));
  } catch (cause) {
    throw new FleetError('INVALID_PARAMS', 'data of an artifact cannot be stored', { cause });
  }
}
