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

interface Exception {
  readonly license: string;
  /** The word of package-lock.json for which the exception was made; undefined for none. */
  readonly locked: string | undefined;
  readonly reason: string;
  /** The exception is not for the package, which must not contain it. */
  readonly isForTests?: true;
}

const ofFile = {
  license: 'MIT',
  locked: undefined,
  reason: 'its file LICENSE says so, and only tests use it',
  isForTests: true,
} as const;
const ofReadme = { license: 'MIT', locked: 'SEE LICENSE IN LICENSE', reason: 'its README says so' } as const;

/** Packages with another word in package-lock.json, or none, by name: the licence, and why it is accepted. */
export const EXCEPTIONS: Readonly<Record<string, Exception>> = {
  '@modelcontextprotocol/server-filesystem': ofReadme,
  '@modelcontextprotocol/server-memory': ofReadme,
  'axe-core': { license: 'MPL-2.0', locked: 'MPL-2.0', reason: 'only tests use it', isForTests: true },
  buildcheck: ofFile,
  'cpu-features': ofFile,
  ssh2: ofFile,
};

/** Undefined for a package without one, and for one whose word has changed since. */
function exceptionOf({ name, license }: LockedPackage): Exception | undefined {
  const exception = EXCEPTIONS[name];
  return exception?.locked === license ? exception : undefined;
}

/** The licence of a package; undefined where nothing says it. */
export const licenseOf = (each: LockedPackage): string | undefined =>
  exceptionOf(each)?.license ?? each.license;

/** True for a licence on the list, and for a choice such as `(MIT OR GPL-3.0)` that includes one. */
const isAllowed = (license: string | undefined): boolean =>
  license
    ?.replace(/[()]/g, '')
    .split(' OR ')
    .some((each) => ALLOWED.has(each)) ?? false;

/** The packages whose licence is neither allowed nor an exception, and the exceptions that no package needs, one line each. */
export function licenseFaults(packages: readonly LockedPackage[]): string[] {
  const refused = packages
    .filter((each) => exceptionOf(each) === undefined && !isAllowed(each.license))
    .map(({ name, version, license }) => `${name}@${version}: ${license ?? 'no licence'}`);
  const names = new Set(packages.filter(exceptionOf).map(({ name }) => name));
  const unused = Object.keys(EXCEPTIONS).filter((name) => !names.has(name));
  return [...refused, ...unused.map((name) => `${name}: no package needs this exception`)];
}

/** The packages that the package contains, although their exception is for tests only, one line each. */
export const containedFaults = (contained: readonly LockedPackage[]): string[] =>
  contained
    .filter((each) => exceptionOf(each)?.isForTests)
    .map(({ name, version }) => `${name}@${version}: is in the package, and its exception is for tests`);

/** One line for each package of the lock file: name, version, licence, whether only development needs it, and why it is an exception. */
export function licenseReport(packages: readonly LockedPackage[]): string {
  const lines = packages.map((each) => {
    const reason = exceptionOf(each)?.reason;
    const notes = [each.isDev ? 'development' : undefined, reason].filter((note) => note !== undefined);
    return [`${each.name}@${each.version}`, licenseOf(each), ...notes].join('\t');
  });
  return `${[...new Set(lines)].sort().join('\n')}\n`;
}
