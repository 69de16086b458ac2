import type { FileHandle } from 'node:fs/promises';
import { cutTo } from '@hermes-fleet/protocol';

/** The open directory or file to search; a symlink planted later cannot replace it. */
export interface GrepPlace {
  readonly handle: FileHandle;
  readonly kind: 'file' | 'directory';
  /** Relative to the workspace. */
  readonly path: string;
}

export interface GrepSearch {
  readonly pattern: string;
  readonly fixed: boolean;
  readonly ignoreCase: boolean;
  readonly include: string | undefined;
  readonly packages: boolean;
}

const MAX_SHOWN = 100;
const MAX_SHOWN_CHARS = 16_000;
const MAX_LINE_CHARS = 300;

/** Collects matches: counts all of them and keeps the first. */
export class GrepMatches {
  readonly #shown: { path: string; line: number; text: string }[] = [];
  #chars = 0;
  #last: string | undefined;
  lines = 0;
  files = 0;

  /** All matches of one file must be added consecutively. */
  add(path: string, line: number, text: string): void {
    this.lines += 1;
    if (path !== this.#last) this.files += 1;
    this.#last = path;
    if (this.#shown.length >= MAX_SHOWN || this.#chars >= MAX_SHOWN_CHARS) return;
    const shown = cutTo(text, MAX_LINE_CHARS);
    this.#chars += path.length + shown.length;
    this.#shown.push({ path, line, text: shown });
  }

  /** Returns the result for the model, with its matches sorted by path. */
  matchesForModel(notes: readonly string[]) {
    const first = this.#shown
      .toSorted((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1))
      .map(({ path, line, text }) => `${path}:${line}: ${text}`);
    const more = this.lines - first.length;
    return {
      matches: this.lines,
      files: this.files,
      ...(first.length > 0 && { first }),
      ...(more > 0 && { more: `${more} more: narrow the pattern, the path or include` }),
      ...(notes.length > 0 && { notes: [...notes] }),
    };
  }
}
