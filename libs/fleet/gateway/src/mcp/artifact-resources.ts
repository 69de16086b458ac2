import { ownArtifacts } from '@hermes-fleet/a2a';
import type { Ledger } from '@hermes-fleet/ledger';
import type { McpResources } from '@hermes-fleet/mcp/server';
import type { JsonObject } from '@hermes-fleet/protocol';

type Contents = ReturnType<McpResources['read']>['contents'];
type Artifact = ReturnType<typeof ownArtifacts>[number];

/** The artifacts that the executor of a task added, with the path of the profile for each part that is not inline. */
const artifactsOf = (ledger: Pick<Ledger, 'artifacts'>, taskId: string): Artifact[] =>
  ownArtifacts(
    ledger.artifacts(taskId),
    ({ seq }, part) => `/artifacts/${encodeURIComponent(taskId)}/${seq}/${part}`,
  );

/** Names the artifacts of a task, each with the resource that holds it. */
export function listArtifacts(ledger: Pick<Ledger, 'artifacts'>, taskId: string): JsonObject[] {
  return artifactsOf(ledger, taskId).map(({ artifactId, name, parts }) => ({
    id: artifactId,
    name: name || artifactId,
    media_types: parts.map(({ mediaType }) => mediaType),
    uri: `fleet://tasks/${encodeURIComponent(taskId)}/artifacts/${encodeURIComponent(artifactId)}`,
  }));
}

/**
 * An artifact of a task, one content for each part. A part that replies refer to (docs/handshake.md#artifacts) is its path
 * at the profile: so a read holds at most 1 MiB. Undefined for an artifact that the task does not have.
 */
export function readArtifact(
  ledger: Pick<Ledger, 'artifacts'>,
  taskId: string,
  artifactId: string,
  uri: string,
): Contents | undefined {
  const artifact = artifactsOf(ledger, taskId).find((each) => each.artifactId === artifactId);
  return artifact?.parts.map((part) => contentOf(part, uri));
}

function contentOf({ content, mediaType }: Artifact['parts'][number], uri: string): Contents[number] {
  const type = mediaType === '' ? {} : { mimeType: mediaType };
  switch (content?.$case) {
    case 'raw':
      return { uri, ...type, blob: content.value.toString('base64') };
    case 'data':
      return { uri, ...type, text: JSON.stringify(content.value) };
    case 'url':
      return { uri, mimeType: 'text/uri-list', text: content.value };
    default:
      return { uri, ...type, text: content?.value ?? '' };
  }
}
