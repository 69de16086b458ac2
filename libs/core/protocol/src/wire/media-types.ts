import { extname } from 'node:path';

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.csv': 'text/csv',
  '.gif': 'image/gif',
  '.gz': 'application/gzip',
  '.htm': 'text/html',
  '.html': 'text/html',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.tar': 'application/x-tar',
  '.txt': 'text/plain',
  '.webp': 'image/webp',
  '.xml': 'application/xml',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
  '.zip': 'application/zip',
};

/** The media type that the ending of a file's name stands for; undefined for one that is not known. */
export function mediaTypeOfName(name: string): string | undefined {
  return MEDIA_TYPES[extname(name).toLowerCase()];
}

/** The media type without its parameters, in lower case. */
export const bareMediaType = (mediaType: string): string =>
  (mediaType.split(';')[0] ?? '').trim().toLowerCase();

/**
 * Tells which media types are in a list, where `text/*` stands for every text, and `*\/*` for everything. Parameters and
 * case do not count. The time for one does not grow with the list.
 */
export function mediaRanges(ranges: readonly string[]): (mediaType: string) => boolean {
  const listed = new Set(ranges.map(bareMediaType));
  return (mediaType) => {
    const type = bareMediaType(mediaType);
    return listed.has(type) || listed.has(`${type.split('/')[0]}/*`) || listed.has('*/*');
  };
}
