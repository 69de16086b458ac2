import { existsSync, lstatSync } from 'node:fs';
import { resolve, sep } from 'node:path';
import type { Usage } from '../command-line/command.ts';
import { UsageError } from '../command-line/option-values.ts';

const AS_PROCESSES: ReadonlySet<string> = new Set(['join', 'leave']);

/**
 * On a host without Node.js, a command sees the folders in FLEET_MOUNTED only (deploy/docker/without-node.sh). Throws UsageError,
 * with the remedy, for a command that is about processes, and for a file or folder that is elsewhere.
 */
export function refuseWithoutNode(
  { name, args = '', options }: Usage,
  values: Readonly<Record<string, unknown>>,
  [first]: readonly string[],
  env: NodeJS.ProcessEnv,
): void {
  const mounted = env.FLEET_MOUNTED?.split(':').filter((folder) => folder !== '');
  if (mounted === undefined) return;
  if (AS_PROCESSES.has(name))
    throw new UsageError(
      `${name} needs Node.js here, or a container of its own: docs/peering.md has the docker run line`,
    );
  const named = Object.entries(options).flatMap(([option, { value = '' }]) =>
    isPath(value) ? [values[option] ?? []].flat().map((path) => [`--${option} ${path}`, path]) : [],
  );
  if (isPath(args) && first !== undefined) named.push([first, first]);
  for (const [words, path] of named)
    if (typeof path === 'string' && path !== '-' && !isSeen(resolve(path), mounted))
      throw new UsageError(
        `${words} is not in ${mounted.join(' or ')}, which is all that a command sees without Node.js: go to its folder, or install Node.js with npm`,
      );
}

/** The name of a value in `--help` says that it is one. */
const isPath = (value: string): boolean => /\b(?:file|folder|path)\b/.test(value);

function isSeen(path: string, mounted: readonly string[]): boolean {
  if (!mounted.some((folder) => path === folder || path.startsWith(`${folder}${sep}`))) return false;
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  return !isLink || existsSync(path);
}
