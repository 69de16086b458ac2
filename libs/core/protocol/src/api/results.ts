/** Where a profile serves the result of a task of the caller (docs/operations.md#read-a-result). The answers are no JSON. */
export const RESULT_ROUTES = {
  /** Query: `path`, one file; `stat=true`, a summary by file. */
  diff: '/fleet/tasks/:id/diff',
  /** The rest of the path is that of the file, percent-encoded. */
  file: '/fleet/tasks/:id/files/*',
  /** Query: `whole=true`, with all history. */
  bundle: '/fleet/tasks/:id/bundle',
} as const;

/** A part of the result of a task. */
export type ResultPart =
  | { readonly kind: 'diff'; readonly path?: string | undefined; readonly stat: boolean }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'bundle'; readonly whole: boolean };

/** The media type of each part. */
export const RESULT_TYPES: Readonly<Record<ResultPart['kind'], string>> = {
  diff: 'text/x-diff; charset=utf-8',
  file: 'application/octet-stream',
  bundle: 'application/x-git-bundle',
};

/** The remedy for a part that is too large to be read. */
export const SMALLER_PARTS: Readonly<Record<ResultPart['kind'], string>> = {
  diff: 'ask for `stat`, one path, or the bundle (fleet diff --stat, fleet diff <id> <path>, fleet pull)',
  file: 'take the bundle (fleet pull)',
  bundle: 'read the diff and the files one by one (fleet diff <id> <path>, fleet show <id> <path>)',
};

/** The path and query of the route that serves a part. */
export function resultUrl(taskId: string, part: ResultPart): string {
  const at = `/fleet/tasks/${encodeURIComponent(taskId)}`;
  switch (part.kind) {
    case 'diff':
      return `${at}/diff${queryOf({ path: part.path, stat: part.stat ? 'true' : undefined })}`;
    case 'file':
      return `${at}/files/${encodeURIComponent(part.path)}`;
    case 'bundle':
      return `${at}/bundle${queryOf({ whole: part.whole ? 'true' : undefined })}`;
  }
}

function queryOf(values: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams(
    Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  return query.size === 0 ? '' : `?${query}`;
}
