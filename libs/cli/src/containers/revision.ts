import { spawnSync } from 'node:child_process';

/** As in .dockerignore: the files of which the image is built. */
const CODE = [
  ...['libs', 'services', 'deploy/docker', 'deploy/package', 'deploy/prometheus/rules'],
  ...['package.json', 'package-lock.json', '.npmrc', 'tsconfig.json', 'CHANGELOG.md', 'LICENSE'],
  ...['deploy/first-flight.json', 'deploy/port-owner.sh', '.dockerignore'],
];
const GIT_MS = 10_000;

/**
 * What a checkout builds, for `fleet_build_info` (docs/metrics.md#deploys): the last commit of its services, with `-changed` where
 * they were changed since. Empty without git.
 */
export function revisionOf({ root }: { readonly root: string }): string {
  const git = (...args: string[]) =>
    spawnSync('git', [...args, '--', ...CODE], { cwd: root, encoding: 'utf8', timeout: GIT_MS });
  const { status, stdout } = git('log', '-1', '--format=%h');
  const commit = status === 0 ? stdout.trim() : '';
  return commit === '' || git('diff', '--quiet', 'HEAD').status === 0 ? commit : `${commit}-changed`;
}
