/**
 * The calls whose results are written together, in order. A call that is alone, such as a delegation, has a part of its own:
 * it may take long, and saves the run meanwhile.
 */
export function resultParts<T>(calls: readonly T[], isAlone: (call: T) => boolean): T[][] {
  const parts: T[][] = [];
  for (const each of calls) {
    const last = parts.at(-1);
    if (last?.[0] === undefined || isAlone(each) || isAlone(last[0])) parts.push([each]);
    else last.push(each);
  }
  return parts;
}
