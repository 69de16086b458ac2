import type { Artifact, StreamResponse, Task } from '@a2a-js/sdk';
import { FleetError, HANDSHAKE_EXTENSION } from '@hermes-fleet/protocol';
import { mediaRanges } from '@hermes-fleet/protocol/ports';

/** The media types that a client accepts; undefined for one that accepts any (A2A 1.0, section 3.2.2). */
export interface OutputModes {
  accepts(mediaType: string): boolean;
  /** The handshake is active: its artifacts are accepted, whatever the list says. */
  readonly hasHandshake: () => boolean;
  /** The ids of the artifacts that the client has seen: a chunk appends to none of which all before was left out. */
  readonly shown: Set<string>;
}

/** Names of kinds that clients of early A2A versions use in place of media types. */
const KINDS: ReadonlyMap<string, string> = new Map([
  ['text', 'text/*'],
  ['data', 'application/json'],
  ['file', '*/*'],
]);

/**
 * Reads `acceptedOutputModes`, which may have ranges, such as `text/*`, and a wildcard for everything. Throws
 * CONTENT_TYPE_NOT_SUPPORTED if the agent offers none of them.
 */
export function readOutputModes(
  asked: readonly string[] | undefined,
  offered: () => readonly string[],
  hasHandshake: () => boolean,
): OutputModes | undefined {
  if (asked === undefined || asked.length === 0) return undefined;
  const isAsked = mediaRanges(asked.map((mode) => KINDS.get(mode) ?? mode));
  const accepts = (mediaType: string): boolean => mediaType === '' || isAsked(mediaType);
  const modes = offered();
  if (modes.some(accepts)) return { accepts, hasHandshake, shown: new Set() };
  const reason = `has none of the media types that this agent offers: ${modes.join(', ')}`;
  const path = 'configuration.acceptedOutputModes';
  throw new FleetError('CONTENT_TYPE_NOT_SUPPORTED', `${path} ${reason}`, { fields: [{ path, reason }] });
}

/** Leaves out the parts of a task's artifacts that the client does not accept, and artifacts that have no other. */
export function acceptableTask(task: Task, modes: OutputModes | undefined): Task {
  if (modes === undefined) return task;
  const artifacts = task.artifacts.flatMap((artifact) => acceptable(artifact, modes) ?? []);
  for (const { artifactId } of artifacts) modes.shown.add(artifactId);
  return { ...task, artifacts };
}

/** As `acceptableTask`; undefined for an update that has nothing else. */
export function acceptableUpdate(
  response: StreamResponse,
  modes: OutputModes | undefined,
): StreamResponse | undefined {
  const { payload } = response;
  if (modes === undefined) return response;
  if (payload?.$case === 'task')
    return { payload: { ...payload, value: acceptableTask(payload.value, modes) } };
  if (payload?.$case !== 'artifactUpdate' || payload.value.artifact === undefined) return response;
  const artifact = acceptable(payload.value.artifact, modes);
  if (artifact === undefined) return undefined;
  const append = payload.value.append && modes.shown.has(artifact.artifactId);
  modes.shown.add(artifact.artifactId);
  return { payload: { ...payload, value: { ...payload.value, artifact, append } } };
}

function acceptable(artifact: Artifact, { accepts, hasHandshake }: OutputModes): Artifact | undefined {
  if (artifact.extensions.includes(HANDSHAKE_EXTENSION) && hasHandshake()) return artifact;
  const parts = artifact.parts.filter(({ mediaType }) => accepts(mediaType));
  return parts.length === 0 ? undefined : { ...artifact, parts };
}
