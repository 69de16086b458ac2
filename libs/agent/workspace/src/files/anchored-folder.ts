import { constants, type Dirent } from 'node:fs';
import { type FileHandle, open, opendir, rename, unlink } from 'node:fs/promises';
import { ToolError } from '@hermes-fleet/protocol/ports';
import { hasCode, unlessAbsent } from '../process/system-error.ts';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_TRUNC, O_WRONLY } = constants;
/** Limit per directory: a command can make more entries than fit into the gateway's memory. */
export const MAX_SCANNED = 10_000;

/** Path of an entry of an open directory. It stays valid when the directory is moved or replaced. */
export const at = (directory: FileHandle, name: string): string => `/proc/self/fd/${directory.fd}/${name}`;

export type AnchoredFolder = ReturnType<typeof anchoredFolder>;

/** Lets commands write to a file or directory that the gateway has just made. */
export type Share = (made: FileHandle) => Promise<void>;

/**
 * Files directly in one open directory, by name. No symlink is followed, even one planted in the meantime. Takes ownership of the
 * handle.
 */
export function anchoredFolder(handle: FileHandle, share: Share) {
  return {
    handle,
    /** Returns the whole content, undefined when absent. Throws ToolError for a longer file, or not a regular file. */
    async read(name: string, maxBytes: number): Promise<Buffer | undefined> {
      let file: FileHandle;
      try {
        file = await open(at(handle, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      } catch (error) {
        if (hasCode(error, 'ENOENT')) return undefined;
        if (hasCode(error, 'ELOOP')) throw new ToolError('it is a symlink');
        throw error;
      }
      await using _closed = file;
      const stats = await file.stat();
      if (!stats.isFile()) throw new ToolError('it is not a regular file');
      if (stats.size > maxBytes) throw new ToolError(`it has ${stats.size} bytes, more than ${maxBytes}`);
      const bytes = Buffer.alloc(stats.size);
      const { bytesRead } = await file.read(bytes, 0, stats.size, 0);
      return bytes.subarray(0, bytesRead);
    },
    /** Replaces a file atomically and durably: readers see the old or the new content. Replaces a symlink itself. */
    async write(name: string, bytes: Uint8Array): Promise<void> {
      const made = at(handle, temporary(name));
      await unlink(made).catch(unlessAbsent);
      await using file = await open(made, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o644);
      await share(file);
      await file.writeFile(bytes);
      await file.sync();
      await rename(made, at(handle, name));
      await handle.sync();
    },
    /** Sets the modification time of a marker file; creates it when absent. */
    async touch(name: string): Promise<void> {
      const flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK;
      await using file = await open(at(handle, name), flags, 0o644);
      await file.writeFile('.');
    },
    rename: (from: string, to: string): Promise<void> => rename(at(handle, from), at(handle, to)),
    remove: (name: string): Promise<void> => unlink(at(handle, name)),
    /** The entries, sorted by name, at most 10,000. */
    entries: (): Promise<Dirent[]> => entriesOf(handle),
    [Symbol.asyncDispose]: (): Promise<void> => handle.close(),
  };
}

/** Name of a file while it is being written; a leftover of a crash is overwritten. */
export const temporary = (name: string): string => `.${name}.tmp`;

/** The entries of an open directory, sorted by name, at most 10,000. */
export async function entriesOf(directory: FileHandle): Promise<Dirent[]> {
  const entries: Dirent[] = [];
  for await (const entry of await opendir(`/proc/self/fd/${directory.fd}`)) {
    entries.push(entry);
    if (entries.length >= MAX_SCANNED) break;
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}
