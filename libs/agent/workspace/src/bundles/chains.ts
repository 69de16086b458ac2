import type { StoredBundle } from './bundle-records.ts';

/** A bundle lists so many commits at most. */
const MOST_LISTED = 100;

type Chained = Pick<StoredBundle, 'bundle' | 'buildsOn' | 'takenAt'>;

/** The names of bundles and of all that they build on. */
export function neededBy(wanted: readonly Chained[], among: ReadonlyMap<string, Chained>): Set<string> {
  const needed = new Set<string>();
  const open = wanted.map(({ bundle }) => bundle);
  for (let bundle = open.pop(); bundle !== undefined; bundle = open.pop()) {
    if (needed.has(bundle)) continue;
    needed.add(bundle);
    open.push(...(among.get(bundle)?.buildsOn ?? []));
  }
  return needed;
}

/** The commits that a bundle and all that it builds on need of the repository; undefined if they are too many, or one has not recorded them. */
export function lackingIn(
  stored: StoredBundle,
  among: ReadonlyMap<string, StoredBundle>,
): readonly string[] | undefined {
  const lacking = new Set<string>();
  for (const each of neededBy([stored], among)) {
    const commits = among.get(each)?.fromRepository;
    if (commits === undefined) return undefined;
    for (const commit of commits) lacking.add(commit);
  }
  return lacking.size > MOST_LISTED ? undefined : [...lacking];
}

/** The oldest bundle that is not needed and that no other one builds on. */
export function leafOf<T extends Chained>(
  among: ReadonlyMap<string, T>,
  needed: ReadonlySet<string>,
): T | undefined {
  const bases = new Set([...among.values()].flatMap(({ buildsOn }) => buildsOn));
  return [...among.values()]
    .filter(({ bundle }) => !needed.has(bundle) && !bases.has(bundle))
    .sort((a, b) => a.takenAt - b.takenAt)[0];
}

/** The bundles that build on one that is not there, or on such a bundle. */
export function lostIn<T extends Chained>(among: ReadonlyMap<string, T>): T[] {
  const lost = new Set<string>();
  const isLost = ({ bundle, buildsOn }: Chained): boolean =>
    !lost.has(bundle) && buildsOn.some((base) => lost.has(base) || !among.has(base));
  for (let found = [...among.values()].filter(isLost); found.length > 0; ) {
    for (const { bundle } of found) lost.add(bundle);
    found = [...among.values()].filter(isLost);
  }
  return [...among.values()].filter(({ bundle }) => lost.has(bundle));
}
