/** The order of two versions by Semantic Versioning (https://semver.org/#spec-item-11): negative if `a` is older. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  const byNumbers = compareLists(left.numbers, right.numbers);
  if (byNumbers !== 0) return byNumbers;
  // A release is newer than its pre-releases.
  if (left.pre.length === 0 || right.pre.length === 0) return right.pre.length - left.pre.length;
  return compareLists(left.pre, right.pre);
}

/** Without build metadata, which has no order. */
function partsOf(version: string) {
  const [, numbers = '', pre] = /^(\d+\.\d+\.\d+)(?:-([\w.-]+))?/.exec(version) ?? [];
  return { numbers: numbers.split('.'), pre: pre?.split('.') ?? [] };
}

function compareLists(a: readonly string[], b: readonly string[]): number {
  for (const [at, left] of a.entries()) {
    const right = b[at];
    if (right === undefined) return 1;
    if (left !== right) return compareIdentifiers(left, right);
  }
  return a.length - b.length;
}

/** Numbers are older than words. */
function compareIdentifiers(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => (/^\d+$/.test(text) ? BigInt(text) : undefined));
  if (left !== undefined && right !== undefined) return left < right ? -1 : 1;
  if (left !== undefined || right !== undefined) return left !== undefined ? -1 : 1;
  return a < b ? -1 : 1;
}
