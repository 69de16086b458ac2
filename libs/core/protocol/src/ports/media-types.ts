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
