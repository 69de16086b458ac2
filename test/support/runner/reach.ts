import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { z } from 'zod';
import { packageFolders } from '../packages.ts';
import { COMPOSED } from './composed.ts';
import { type Module, parseModule } from './parse-module.ts';

/** What the test files of a repository reach. */
export interface ReachGraph {
  /** The files that a test file reaches, itself included, each with the number of steps that lead to it. */
  filesOf(testFile: string): ReadonlyMap<string, number>;
  /** The test file reaches one of these files. */
  reaches(testFile: string, changed: ReadonlySet<string>): boolean;
}

/** Rules of the repository: they look at every file. */
export const RULES = 'test/repository/';

/** The versions of packages, on which every test depends. */
const OF_EVERY_TEST = /^(package-lock\.json|(.*\/)?package\.json)$/;

/** A script names the programs that it runs; what other texts name, such as documents, no test runs by reading them. */
const SCRIPT = /^fleet$|\.sh$/;

/** Tests name files of the root without a slash. Elsewhere such a text is a file of a user's project. */
const NAMES_OF_ROOT = /^test\//;

/** A document of the root. Texts of tests have such names too, so a test reads one only where it says that it is of the root. */
const DOCUMENT = /\.md$/;

/** The files that one file leads to, and those that only pass on the names that it imports. */
interface Next {
  readonly through: readonly string[];
  readonly ends: readonly string[];
}

const Manifest = z.object({ name: z.string(), exports: z.record(z.string(), z.string()).optional() });

/**
 * Finds what a test file reaches, across packages, without running it: what it imports, except types, and the files that
 * a text names by a path, relative to itself or from the root, such as programs that a test starts. Through a file that
 * only passes names on, such as an `index.ts`, it follows the names that are imported. A path of a folder reaches the
 * files below it that are not TypeScript. Each file is read once. A changed file that is gone takes part without contents:
 * what named it, or its folder, reaches it still.
 */
export function reachGraph(root: string, changed: Iterable<string> = []): ReachGraph {
  const present = new Set(filesBelow(root, ''));
  const files = new Set([...present, ...changed]);
  const folders = new Set([...files].flatMap(foldersOf));
  const packages = packageEntries(root);
  const ofEveryTest = [...files].filter((file) => OF_EVERY_TEST.test(file));
  const modules = new Map<string, Module>();
  const nexts = new Map<string, Next>();
  const known = new Map<string, ReadonlyMap<string, number>>();

  const moduleOf = (file: string): Module => {
    const read =
      modules.get(file) ?? parseModule(present.has(file) ? readFileSync(join(root, file), 'utf8') : '');
    modules.set(file, read);
    return read;
  };
  const imported = (from: string, specifier: string): string | undefined => {
    const file = specifier.startsWith('.') ? join(dirname(from), specifier) : packages.get(specifier);
    return file !== undefined && files.has(file) ? file : undefined;
  };
  const below = (folder: string): string[] => [...files].filter((file) => file.startsWith(folder));
  const at = (from: string, place: string): string[] => {
    const target = place.replace(/\/$/, '');
    if (files.has(place)) return [place];
    const isOwn = target === '.' || from.startsWith(`${target}/`);
    if (isOwn || !folders.has(target)) return [];
    return below(`${target}/`).filter((file) => !file.endsWith('.ts'));
  };
  const named = (from: string, path: string): string[] => [
    ...at(from, join(dirname(from), path)),
    ...(path.includes('/') ? at(from, normalize(path)) : []),
  ];
  const inRoot = (name: string): string[] =>
    files.has(name) && !name.includes('/') && !DOCUMENT.test(name) ? [name] : [];

  /** The file passes this name on or declares it. */
  const has = (file: string, name: string): boolean => {
    const { passedOn, declared, all } = moduleOf(file);
    const inOther = (specifier: string): boolean => {
      const target = imported(file, specifier);
      return target !== undefined && has(target, name);
    };
    return passedOn.has(name) || declared.has(name) || all.some(inOther);
  };
  /** The files that an import of this name touches: those that pass it on, and last the one that declares it. */
  const declaring = (file: string, name: string): Next => {
    const { passedOn, declared, all } = moduleOf(file);
    const next = passedOn.get(name);
    const target = next === undefined ? undefined : imported(file, next.specifier);
    const others = all.flatMap((specifier) => imported(file, specifier) ?? []);
    const [to, as] =
      target !== undefined && next !== undefined
        ? [target, next.name]
        : [declared.has(name) ? undefined : others.find((other) => has(other, name)), name];
    if (to === undefined) return { through: [], ends: [file] };
    const rest = declaring(to, as);
    return { through: [file, ...rest.through], ends: rest.ends };
  };
  const everyName = (file: string): Next[] => {
    const { passedOn, all } = moduleOf(file);
    const others = all.flatMap((specifier) => imported(file, specifier) ?? []);
    const passed = [...passedOn.keys()].map((name) => declaring(file, name));
    return [{ through: [], ends: [file] }, ...passed, ...others.flatMap(everyName)];
  };

  const nextOf = (file: string): Next => {
    const found = nexts.get(file) ?? findNext(file);
    nexts.set(file, found);
    return found;
  };
  const findNext = (file: string): Next => {
    const ends = (COMPOSED[file]?.reached ?? []).flatMap((path) =>
      path.endsWith('/') ? below(path).filter((found) => !found.endsWith('.test.ts')) : path,
    );
    const through: string[] = [];
    if (SCRIPT.test(file))
      ends.push(...moduleOf(file).words.flatMap((word) => [...named(file, word), ...inRoot(word)]));
    if (!file.endsWith('.ts')) return { through, ends };
    const { imports, paths, fromRoot, names } = moduleOf(file);
    if (NAMES_OF_ROOT.test(file)) ends.push(...names.flatMap(inRoot));
    for (const { specifier, names } of imports) {
      const target = imported(file, specifier);
      if (target === undefined) continue;
      for (const found of names === 'all'
        ? everyName(target)
        : names.map((name) => declaring(target, name))) {
        through.push(...found.through);
        ends.push(...found.ends);
      }
    }
    if (COMPOSED[file]?.instead) return { through, ends };
    ends.push(...paths.flatMap((path) => named(file, path)));
    ends.push(...fromRoot.flatMap((path) => at(file, normalize(path))));
    return { through, ends };
  };

  const filesOf = (testFile: string): ReadonlyMap<string, number> => {
    const before = known.get(testFile);
    if (before !== undefined) return before;
    const everything = testFile.startsWith(RULES) ? [...files] : ofEveryTest;
    const steps = new Map([[testFile, 0]]);
    const passing = new Map<string, number>();
    // A map yields what is added while it is walked.
    for (const [file, step] of steps) {
      if (!files.has(file)) continue;
      const { through, ends } = nextOf(file);
      for (const end of ends) if (!steps.has(end)) steps.set(end, step + 1);
      for (const passes of through) if (!passing.has(passes)) passing.set(passes, step + 1);
    }
    const far = Math.max(...steps.values()) + 1;
    for (const [file, step] of passing) if (!steps.has(file)) steps.set(file, step);
    for (const file of everything) if (!steps.has(file)) steps.set(file, far);
    known.set(testFile, steps);
    return steps;
  };
  return {
    filesOf,
    reaches: (testFile, changed) => {
      const reached = filesOf(testFile);
      return changed.values().some((file) => reached.has(file));
    },
  };
}

function filesBelow(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory())
      return ['node_modules', '.git', '.cache'].includes(entry.name) ? [] : filesBelow(root, path);
    return entry.isFile() ? [path] : [];
  });
}

function foldersOf(file: string): string[] {
  const parts = file.split('/').slice(0, -1);
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'));
}

/** The file of each specifier that a package of this repository exports. */
function packageEntries(root: string): Map<string, string> {
  const entries = packageFolders(root).flatMap((folder) => {
    const { data } = Manifest.safeParse(JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')));
    if (data === undefined) return [];
    return Object.entries(data.exports ?? {}).map(
      ([sub, path]) => [join(data.name, sub), join(folder, path)] as const,
    );
  });
  return new Map(entries);
}
