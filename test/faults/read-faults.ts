import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A planted fault: a small patch that breaks a promise. */
export interface Fault {
  /** The name of its file, without the ending. */
  readonly name: string;
  readonly path: string;
  /** The first line of its file: the promise that it breaks. */
  readonly promise: string;
  /** The files that it changes, relative to the root. */
  readonly files: readonly string[];
}

/** Reads the faults of a folder, in alphabetical order. Throws for a patch without a promise or a changed file. */
export function readFaults(folder: string): Fault[] {
  const names = readdirSync(folder).filter((file) => file.endsWith('.patch'));
  return names.sort().map((file) => {
    const path = join(folder, file);
    const text = readFileSync(path, 'utf8');
    const [promise = ''] = text.split('\n');
    const files = [...text.matchAll(/^\+\+\+ b\/(.+)$/gm)].map(([, changed = '']) => changed);
    if (files.length === 0 || promise === '' || /^(diff|---) /.test(promise))
      throw new Error(`${path} must be a line that says which promise breaks, and a unified diff`);
    return { name: file.slice(0, -'.patch'.length), path, promise, files };
  });
}
