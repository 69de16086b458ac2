import { shownName } from '@hermes-fleet/protocol';

/** Folders of the root whose files forges read. By its own name, a folder is a symbolic link or a submodule. */
const FOLDERS: readonly string[] = [
  '.azure-pipelines',
  '.bitbucket',
  '.buildkite',
  '.circleci',
  '.forgejo',
  '.gitea',
  '.github',
  '.gitlab',
  '.semaphore',
  '.teamcity',
  '.woodpecker',
];

/**
 * Files, by their path. `.pre-commit-config.yaml` is none: it runs where somebody commits, as do the scripts of package.json and
 * of a Makefile, and people review those with the diff.
 */
const FILES: ReadonlySet<string> = new Set([
  '.appveyor.yml',
  '.cirrus.star',
  '.cirrus.yml',
  '.drone.yml',
  '.gitlab-ci.yml',
  '.gitmodules',
  '.travis.yml',
  '.woodpecker.yaml',
  '.woodpecker.yml',
  'CODEOWNERS',
  'appveyor.yml',
  'azure-pipelines.yaml',
  'azure-pipelines.yml',
  'bitbucket-pipelines.yml',
  'cloudbuild.yaml',
  'cloudbuild.yml',
  'docs/CODEOWNERS',
]);

/** Jenkins is told the folder of its file, so any folder may have one. */
const JENKINS = /(?:^|\/)Jenkinsfile$/;

const isForgeFile = (path: string): boolean =>
  FILES.has(path) ||
  JENKINS.test(path) ||
  FOLDERS.some((folder) => path === folder || path.startsWith(`${folder}/`));

/**
 * The paths, relative to the root, at which a forge or its CI finds something to run, or who may approve what. Case counts, as
 * it does for forges.
 */
export const forgeFiles = (paths: readonly string[]): string[] => paths.filter(isForgeFile);

const MAX_NAMED = 5;

/** The next step of a result that changed or deleted such files: one line that names the first ones. */
export function forgeNextSteps(filesChanged: readonly string[]): string[] {
  const found = forgeFiles(filesChanged);
  if (found.length === 0) return [];
  const named = found.slice(0, MAX_NAMED).map((path) => shownName(path, 100));
  const more = found.length - named.length;
  const files = `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return [`look at ${files} before you push: a forge runs what is there, or reads from it who may do what`];
}
