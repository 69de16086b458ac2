import { spawn } from 'node:child_process';
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib';
import { FleetError } from '@hermes-fleet/protocol';
import { MANIFEST_FILE, type Manifest, readManifest } from './manifest.ts';

/** SQLite's temporary files. */
const LEFT_OUT = ['state/*/tmp/*'];
const ENTRY = /^(?:fleet-backup\.json|(?:keys|state|workspaces|nats)(?:\/.*)?)$/;

/**
 * Writes an archive of the parts to a stream: a tar file, with Zstandard and its checksum. Rejects if any file could not be
 * read whole, or changed meanwhile.
 */
export async function writeArchive(dir: string, manifest: Manifest, out: Writable): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-backup-'));
  try {
    writeFileSync(join(folder, MANIFEST_FILE), `${JSON.stringify(manifest, null, 2)}\n`);
    const excludes = LEFT_OUT.map((pattern) => `--exclude=${pattern}`);
    const options = ['--create', '--file=-', '--numeric-owner', '--sparse', '--anchored', '--wildcards'];
    const args = [...options, '--no-wildcards-match-slash', ...excludes];
    const tar = startTar([...args, '-C', folder, MANIFEST_FILE, '-C', dir, ...manifest.parts]);
    const compress = createZstdCompress({
      params: {
        [constants.ZSTD_c_compressionLevel]: 1,
        [constants.ZSTD_c_checksumFlag]: 1,
      },
    });
    await Promise.all([pipeline(tar.stdout, compress, out), tar.ended]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Reads a whole archive without writing anything. Returns its manifest. Throws CONFIG_INVALID if it is not one, is not
 * complete, was changed, or has other entries than a backup.
 */
export async function checkArchive(file: string): Promise<Manifest> {
  const manifest = readManifest(await readEntry(file, MANIFEST_FILE), file);
  const tar = startTar(['--list', '--file=-', '--quoting-style=escape']);
  const names = await readThrough(file, tar, true);
  const foreign = names.split('\n').find((name) => name !== '' && !isExpected(name, manifest));
  if (foreign !== undefined)
    throw new FleetError('CONFIG_INVALID', `${file} has an entry that no backup has: ${foreign}`);
  return manifest;
}

/** Extracts the parts of an archive that was checked. Owners are restored where this process may do that. */
export async function extractArchive(file: string, dir: string): Promise<void> {
  const options = ['--extract', '--file=-', '--numeric-owner', '--same-permissions'];
  const tar = startTar([...options, '--delay-directory-restore', `--exclude=${MANIFEST_FILE}`, '-C', dir]);
  await readThrough(file, tar, true);
}

function isExpected(name: string, { parts }: Manifest): boolean {
  if (name === MANIFEST_FILE) return true;
  const path = name.replace(/\/$/, '');
  if (!ENTRY.test(path) || path.split('/').includes('..')) return false;
  return parts.some((part) => path === part || path.startsWith(`${part}/`));
}

async function readEntry(file: string, name: string): Promise<string> {
  const tar = startTar(['--extract', '--file=-', '--to-stdout', '--occurrence=1', name]);
  return readThrough(file, tar, false);
}

/** Feeds an archive to tar. `whole`: also what tar does not need is read, so that the checksum at the end is compared. */
async function readThrough(file: string, tar: ReturnType<typeof startTar>, whole: boolean): Promise<string> {
  let hasEnough = false;
  const feed = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of chunks) {
      if (tar.stdin.writable) await writeChunk(tar.stdin, chunk);
      hasEnough = !whole && !tar.stdin.writable;
      if (hasEnough) return;
    }
    tar.stdin.end();
  };
  const fed = pipeline(createReadStream(file), createZstdDecompress(), feed).catch((error: unknown) => {
    if (hasEnough) return;
    tar.kill();
    throw error;
  });
  try {
    const [, found] = await Promise.all([fed, text(tar.stdout), tar.ended]);
    return found;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new FleetError('CONFIG_INVALID', `${file} is no complete backup: ${reason}`, { cause });
  }
}

/** Resolves when the chunk is written, or when the reader has closed its input. */
const writeChunk = (to: Writable, chunk: Buffer): Promise<void> =>
  new Promise((resolve) => to.write(chunk, () => resolve()));

/** `ended` rejects with what tar said, unless it ended well. */
function startTar(args: readonly string[]) {
  const child = spawn('tar', args, { stdio: 'pipe', env: { ...process.env, LC_ALL: 'C' } });
  const said = text(child.stderr);
  // A reader that has all that it needs closes its input.
  child.stdin.on('error', () => undefined);
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', async (code, signal) => {
      if (code === 0) return resolve();
      const lines = (await said).trim().split('\n');
      reject(new Error(`tar ended with ${signal ?? code}: ${lines.slice(0, 3).join('; ')}`));
    });
  });
  return { stdin: child.stdin, stdout: child.stdout, ended, kill: () => child.kill('SIGKILL') };
}
