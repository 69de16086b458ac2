import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { FleetError, systemCode } from '@hermes-fleet/protocol';

export interface WrittenFile {
  readonly path: string;
  readonly text: string;
  readonly mode?: number;
}

/**
 * Writes all files or none: each beside its place first, then all are renamed, in this order. Files that have this text already are
 * left alone. Returns the paths of the others. Throws CONFIG_INVALID that names the file that cannot be written.
 */
export function writeFiles(files: readonly WrittenFile[]): readonly string[] {
  const changed = files
    .map((file) => ({ ...file, before: existsSync(file.path) ? readFileSync(file.path, 'utf8') : undefined }))
    .filter(({ text, before }) => text !== before);
  const folders: string[] = [];
  const begun: string[] = [];
  let at = '';
  let renamed = 0;
  try {
    for (const { path, text, mode = 0o644 } of changed) {
      at = path;
      const made = mkdirSync(dirname(path), { recursive: true });
      if (made !== undefined) folders.push(made);
      begun.push(beside(path));
      writeFileSync(beside(path), text, { mode, flush: true });
    }
    for (const { path } of changed) {
      at = path;
      renameSync(beside(path), path);
      renamed += 1;
    }
  } catch (cause) {
    for (const file of begun) rmSync(file, { force: true });
    for (const { path, before } of changed.slice(0, renamed)) {
      if (before === undefined) rmSync(path, { force: true });
      else writeFileSync(path, before);
    }
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    const reason = `cannot be written (${systemCode(cause) ?? cause}): nothing was changed`;
    throw new FleetError('CONFIG_INVALID', `${at} ${reason}`, { cause, fields: [{ path: at, reason }] });
  }
  return changed.map(({ path }) => path);
}

const beside = (path: string): string => `${path}.new`;
