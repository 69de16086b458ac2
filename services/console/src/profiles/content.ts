import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';

/** One part of an artifact, as its profile shows it. */
export interface ArtifactPart {
  readonly artifactId: string;
  /** Its place in the artifact, from 0. */
  readonly index: number;
  readonly name: string;
  readonly mediaType: string | null;
  /** The content, if the answer has it. */
  readonly bytes: Buffer | null;
  readonly isText: boolean;
  /** Where the profile serves the content; a path on its own address. */
  readonly path: string | null;
  /** An address elsewhere, which nobody fetches. */
  readonly link: string | null;
}

/** What a profile answers for a task, in parts that the console shows. */
export interface TaskContent {
  readonly brief: string | null;
  readonly result: JsonObject | null;
  readonly text: string | null;
  readonly question: string | null;
  readonly artifacts: readonly ArtifactPart[];
}

const RESULT = new Set(['task-result', 'late-result']);
const MAX_PARTS = 500;
const SERVED = /^\/artifacts\/[^/]{1,300}\/\d{1,15}\/\d{1,6}$/;

/** Reads an A2A task (docs/handshake.md#task_result). Parts of unknown kinds are left out. */
export function readContent(task: Readonly<Record<string, unknown>>): TaskContent {
  const artifacts = objects(task.artifacts);
  const result = artifacts.find(({ artifactId }) => artifactId === 'task-result');
  const text = artifacts.find(({ artifactId }) => artifactId === 'text');
  const own = artifacts.filter(({ artifactId }) => artifactId !== 'text' && !RESULT.has(String(artifactId)));
  const status = isJsonObject(task.status) ? task.status : {};
  const asks = status.state === 'TASK_STATE_INPUT_REQUIRED' && isJsonObject(status.message);
  return {
    brief: briefOf(objects(task.history).find(({ role }) => role === 'ROLE_USER') ?? {}),
    result:
      objects(result?.parts)
        .map(({ data }) => data)
        .find(isJsonObject) ?? null,
    text: text ? textOf(text) : null,
    question: asks && isJsonObject(status.message) ? textOf(status.message) : null,
    artifacts: own.flatMap(partsOf).slice(0, MAX_PARTS),
  };
}

const objects = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);

const textOf = ({ parts }: JsonObject): string =>
  objects(parts)
    .flatMap(({ text }) => (typeof text === 'string' ? [text] : []))
    .join('\n');

/** The brief of a dispatch, or else the text of the message. */
function briefOf(message: JsonObject): string | null {
  for (const { data } of objects(message.parts))
    if (isJsonObject(data) && data.type === 'TASK_DISPATCH' && typeof data.brief === 'string')
      return data.brief;
  return textOf(message) || null;
}

function partsOf(artifact: JsonObject): ArtifactPart[] {
  const artifactId = typeof artifact.artifactId === 'string' ? artifact.artifactId : '';
  const title = typeof artifact.name === 'string' && artifact.name !== '' ? artifact.name : artifactId;
  return objects(artifact.parts).flatMap((part, index): ArtifactPart[] => {
    const { text, data, raw, url, filename, mediaType } = part;
    const name = typeof filename === 'string' && filename !== '' ? filename : title;
    const media = typeof mediaType === 'string' && mediaType !== '' ? mediaType : null;
    const base = {
      artifactId,
      index,
      name,
      mediaType: media,
      bytes: null,
      isText: false,
      path: null,
      link: null,
    };
    if (typeof text === 'string') return [{ ...base, bytes: Buffer.from(text), isText: true }];
    if (data !== undefined)
      return [{ ...base, bytes: Buffer.from(JSON.stringify(data, null, 2)), isText: true }];
    if (typeof raw === 'string') return [{ ...base, bytes: Buffer.from(raw, 'base64') }];
    if (typeof url !== 'string' || !URL.canParse(url)) return [];
    const { pathname } = new URL(url);
    return [SERVED.test(pathname) ? { ...base, path: pathname } : { ...base, link: url.slice(0, 2_000) }];
  });
}
