import { createClient, type Resolve } from '@hermes-fleet/net';
import { FleetError, nameInUrl, safeName } from '@hermes-fleet/protocol';
import { bareMediaType, type Clock, type FilePart } from '@hermes-fleet/protocol/ports';

/** The limits of a task's files: `fleet.files` (docs/configuration.md#fleetyaml). */
export interface FileLimits {
  /** For all files of a task together. */
  readonly maxBytes: number;
  /** For reading one address. */
  readonly timeoutMs: number;
  /** Internal hosts that files may be read from: `host` or `host:port`. */
  readonly allowInternal: readonly string[];
}

export interface ReadOptions extends FileLimits {
  readonly clock: Clock;
  /** Default: the system's resolver. */
  readonly resolve?: Resolve | undefined;
  readonly signal: AbortSignal;
}

export interface ReceivedFile {
  /** As a file may be called. */
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** A file that cannot be read. The message names the part, and of an address the host only. */
export class UnreadableFile extends Error {
  readonly transient: boolean;

  constructor(message: string, transient: boolean, options?: ErrorOptions) {
    super(message, options);
    this.transient = transient;
  }
}

const UNKNOWN_TYPE = 'application/octet-stream';

/** Reads a task's files one by one. Throws UnreadableFile for one that fails or is too large, and the signal's reason. */
export async function readFiles(options: ReadOptions, parts: readonly FilePart[]): Promise<ReceivedFile[]> {
  const files: ReceivedFile[] = [];
  let left = options.maxBytes;
  for (const part of parts) {
    const file = await readOne({ ...options, maxBytes: left }, part);
    left -= file.bytes.byteLength;
    if (left < 0) throw tooLarge(part, options.maxBytes);
    files.push(file);
  }
  return files;
}

async function readOne(options: ReadOptions, part: FilePart): Promise<ReceivedFile> {
  const named = part.filename === undefined ? undefined : safeName(part.filename);
  const unnamed = `file-${part.index + 1}`;
  if (part.bytes !== undefined)
    return {
      name: named ?? unnamed,
      mediaType: part.mediaType ?? UNKNOWN_TYPE,
      bytes: Buffer.from(part.bytes, 'base64'),
    };
  const { bytes, type } = await fetchBytes(options, part, part.url);
  return { name: named ?? nameInUrl(part.url) ?? unnamed, mediaType: part.mediaType ?? type, bytes };
}

async function fetchBytes(
  { maxBytes, timeoutMs, allowInternal, resolve, clock, signal }: ReadOptions,
  part: FilePart,
  url: string,
): Promise<{ readonly bytes: Uint8Array; readonly type: string }> {
  try {
    const headers = { accept: acceptOf(part), 'user-agent': 'hermes-fleet' };
    // One byte more, so that a file of exactly the limit is none beyond it.
    const request = { signal, timeoutMs, headers, maxBytes: maxBytes + 1 };
    const { response } = await createClient('untrusted', { allowInternal, resolve, clock })(url, request);
    if (!response.ok) {
      await response.body?.cancel();
      const isTransient = response.status >= 500 || response.status === 408 || response.status === 429;
      throw unreadable(part, `its server answered with HTTP ${response.status}`, isTransient);
    }
    const bytes = new Uint8Array(await response.arrayBuffer());
    return { bytes, type: response.headers.get('content-type') ?? UNKNOWN_TYPE };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof FleetError)) throw error;
    throw unreadable(part, error.message, error.code === 'PEER_UNREACHABLE', error);
  }
}

/** The `Accept` header of the request. A sender may give any text as the media type, also one that no header can carry. */
function acceptOf({ mediaType = '' }: FilePart): string {
  const type = bareMediaType(mediaType);
  return /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : '*/*';
}

function unreadable(
  { index }: FilePart,
  why: string,
  transient: boolean,
  cause?: FleetError,
): UnreadableFile {
  return new UnreadableFile(`the file of message.parts[${index}] cannot be read: ${why}`, transient, {
    cause,
  });
}

function tooLarge(part: FilePart, maxBytes: number): UnreadableFile {
  return unreadable(part, `the files of a task may have ${maxBytes} bytes together`, false);
}
