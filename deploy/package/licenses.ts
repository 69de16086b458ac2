import type { LockedPackage } from './lock.ts';

/** The licences that a dependency may have: those that ask for nothing but their notices. */
const ALLOWED: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'Unlicense',
]);

/** Packages with another word in package-lock.json, or none, by name: the licence, and why it is accepted. */
export const EXCEPTIONS: Readonly<Record<string, { readonly license: string; readonly reason: string }>> = {
  '@modelcontextprotocol/server-filesystem': { license: 'MIT', reason: 'its README says so' },
  '@modelcontextprotocol/server-memory': { license: 'MIT', reason: 'its README says so' },
  'axe-core': { license: 'MPL-2.0', reason: 'only tests use it' },
  buildcheck: { license: 'MIT', reason: 'its file LICENSE says so, and only tests use it' },
  'cpu-features': { license: 'MIT', reason: 'its file LICENSE says so, and only tests use it' },
  ssh2: { license: 'MIT', reason: 'its file LICENSE says so, and only tests use it' },
};

/** The licence of a package; undefined where nothing says it. */
export const licenseOf = ({ name, license }: LockedPackage): string | undefined =>
  EXCEPTIONS[name]?.license ?? license;

/** True for a licence on the list, and for a choice such as `(MIT OR GPL-3.0)` that includes one. */
const isAllowed = (license: string | undefined): boolean =>
  license
    ?.replace(/[()]/g, '')
    .split(' OR ')
    .some((each) => ALLOWED.has(each)) ?? false;

/** The packages whose licence is neither allowed nor an exception, and the exceptions that no package needs, one line each. */
export function licenseFaults(packages: readonly LockedPackage[]): string[] {
  const refused = packages
    .filter(({ name, license }) => EXCEPTIONS[name] === undefined && !isAllowed(license))
    .map(({ name, version, license }) => `${name}@${version}: ${license ?? 'no licence'}`);
  const names = new Set(packages.filter(({ license }) => !isAllowed(license)).map(({ name }) => name));
  const unused = Object.keys(EXCEPTIONS).filter((name) => !names.has(name));
  return [...refused, ...unused.map((name) => `${name}: no package needs this exception`)];
}

/** One line for each package of the lock file: name, version, licence, whether only development needs it, and why it is an exception. */
export function licenseReport(packages: readonly LockedPackage[]): string {
  const lines = packages.map((each) => {
    const reason = EXCEPTIONS[each.name]?.reason;
    const notes = [each.isDev ? 'development' : undefined, reason].filter((note) => note !== undefined);
    return [`${each.name}@${each.version}`, licenseOf(each), ...notes].join('\t');
  });
  return `${[...new Set(lines)].sort().join('\n')}\n`;
}
