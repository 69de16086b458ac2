import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { UsageError } from '../command-line/option-values.ts';
import type { RepositoryChoice } from '../folder/new-folder.ts';

/** A repository as the user names it. */
export interface NamedRepository {
  /** Its address, or the path of a clone. */
  readonly source: string;
  readonly base?: string | undefined;
  /** The variable with the token of a private one. */
  readonly tokenEnv?: string | undefined;
}

const GIT_MS = 10_000;

/** The repository as repositories.yaml has it: of a clone, its origin and that one's default branch. Throws UsageError. */
export function repositoryFrom(
  { source, base, tokenEnv }: NamedRepository,
  env: NodeJS.ProcessEnv,
): RepositoryChoice {
  const isPath = !URL.canParse(source) && existsSync(source);
  const read = (...args: string[]): string => {
    const { stdout, status } = spawnSync('git', ['-C', source, ...args], {
      env,
      encoding: 'utf8',
      timeout: GIT_MS,
    });
    return status === 0 ? stdout.trim() : '';
  };
  const address = isPath ? read('remote', 'get-url', 'origin') : source;
  const url = URL.parse(httpsOf(address));
  if (!url || !/^https?:$/.test(url.protocol))
    throw new UsageError(
      isPath
        ? `${source} has no origin with an https address: name one, or leave --repository out: fleet send --repo ${source} sends a clone as it is`
        : `--repository must be an https address or a folder, not "${source}"`,
    );
  // An address of the user is refused, so that nobody believes its token is stored; that of a clone often names a user.
  if (!isPath && (url.username !== '' || url.password !== ''))
    throw new UsageError(
      '--repository must have no user name and no password or token in its address: name the variable that has the token with --repository-token-env',
    );
  url.username = '';
  url.password = '';
  const head = isPath
    ? read('symbolic-ref', '--short', 'refs/remotes/origin/HEAD').replace(/^origin\//, '')
    : '';
  const slug = (url.pathname.split('/').at(-1) ?? '')
    .replace(/\.git$/, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-');
  return {
    name: slug.replaceAll(/^-+|-+$/g, '') || 'repository',
    url: url.href,
    base: base || head || 'main',
    tokenEnv,
  };
}

/** The https address of an address over SSH at the same host. */
const httpsOf = (address: string): string => address.replace(/^(?:ssh:\/\/)?git@([^:/]+)[:/]/, 'https://$1/');
