import { type FileHandle, open } from 'node:fs/promises';
import type { Confinement } from '../confinement/confinement.ts';

/** How a secret may be written in a file or an output. */
interface Form {
  readonly variable: string;
  readonly text: string;
}

/** A shorter line of a secret is no secret by itself. */
const MIN_LINE_CHARS = 8;
const CHUNK_BYTES = 256 * 1024;
const BLOCK = 512;

/** Why commands of other tasks could read the environment of a set-up's commands here; undefined where none can. */
export function exposedSecrets({ method, users }: Pick<Confinement, 'method' | 'users'>): string | undefined {
  const where =
    method === 'unconfined'
      ? 'nothing confines commands (tools.shell.confine: unconfined)'
      : method === 'uid' && users === undefined
        ? 'the commands of all contexts run as one user'
        : undefined;
  return (
    where && `setup_secrets is refused, because commands of other tasks could read the secrets here: ${where}`
  );
}

/** A function that puts the names of secrets in their places in a text. */
export function maskOf(secrets: Readonly<Record<string, string>>): (text: string) => string {
  const lines = Object.entries(secrets).flatMap(([variable, secret]) =>
    secret
      .split(/\r?\n/)
      .filter(({ length }) => length >= MIN_LINE_CHARS)
      .map((text) => ({ variable, text })),
  );
  const forms = [...formsOf(secrets), ...lines].toSorted((a, b) => b.text.length - a.text.length);
  return (text) => forms.reduce((rest, form) => rest.replaceAll(form.text, `[${form.variable}]`), text);
}

/** As it is, and in JSON, in a URL, and in base64, which differs with the place of the secret in what is encoded. */
function formsOf(secrets: Readonly<Record<string, string>>): Form[] {
  return Object.entries(secrets).flatMap(([variable, secret]) => {
    const inUrl = encodeURIComponent(secret);
    const inBase64 = [0, 1, 2].flatMap((before) => {
      const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
      const [first, last] = [Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6)];
      return [bytes.toString('base64'), bytes.toString('base64url')].map((text) => text.slice(first, last));
    });
    const lowerCase = inUrl.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
    const texts = [secret, JSON.stringify(secret).slice(1, -1), inUrl, lowerCase, ...inBase64];
    return [...new Set(texts)].map((text) => ({ variable, text }));
  });
}

/** Searches an archive of tar. Resolves with a file that has a secret, and the variable of that. Throws the signal's reason. */
export async function findSecret(
  path: string,
  secrets: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<{ readonly file: string; readonly variable: string } | undefined> {
  const forms = formsOf(secrets).map(({ variable, text }) => ({ variable, bytes: Buffer.from(text) }));
  if (forms.length === 0) return undefined;
  const overlap = Math.max(...forms.map(({ bytes }) => bytes.length - 1));
  await using archive = await open(path, 'r');
  const buffer = Buffer.alloc(overlap + CHUNK_BYTES);
  for (let [from, kept] = [0, 0]; ; ) {
    signal.throwIfAborted();
    const { bytesRead } = await archive.read(buffer, kept, CHUNK_BYTES, from + kept);
    if (bytesRead === 0) return undefined;
    const seen = buffer.subarray(0, kept + bytesRead);
    for (const { variable, bytes } of forms) {
      const index = seen.indexOf(bytes);
      if (index >= 0) return { variable, file: await memberAt(archive, from + index) };
    }
    const next = Math.max(0, seen.length - overlap);
    buffer.copy(buffer, 0, next, seen.length);
    from += next;
    kept = seen.length - next;
  }
}

/** The types of headers whose content is the name of the next member, or attributes of it. */
const LONG_NAME = 'L';
const OF_NEXT = 'LKxg';

/** The name of the member of a GNU archive that has this byte in its header or its content. */
async function memberAt(archive: FileHandle, offset: number): Promise<string> {
  const header = Buffer.alloc(BLOCK);
  const textAt = (start: number, end: number): string => untilNull(header.subarray(start, end));
  let long: string | undefined;
  for (let at = 0; ; ) {
    const { bytesRead } = await archive.read(header, 0, BLOCK, at);
    const name = long ?? textAt(0, 100);
    const size = sizeIn(header);
    // The end of the archive, or none of tar's.
    if (bytesRead < BLOCK || !Number.isSafeInteger(size)) return name;
    const type = textAt(156, 157);
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
    if (type === LONG_NAME) {
      const content = Buffer.alloc(Math.min(size, 4096));
      await archive.read(content, 0, content.length, at - Math.ceil(size / BLOCK) * BLOCK);
      long = untilNull(content);
    } else if (!OF_NEXT.includes(type) || type === '') {
      if (offset < at) return name;
      long = undefined;
    }
  }
}

const untilNull = (bytes: Buffer): string => bytes.toString().split('\0', 1)[0] ?? '';

/** Octal digits, or a binary number after a byte 128. */
const sizeIn = (header: Buffer): number =>
  header[124] === 0x80
    ? Number(header.readBigUInt64BE(128))
    : Number.parseInt(header.toString('latin1', 124, 135), 8);
