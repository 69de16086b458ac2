import type { Git } from '../git/git.ts';

/** A repository in the configuration of a profile. */
export interface Configured {
  readonly name: string;
  readonly url: string;
  readonly base: string;
}

/** A remote of a checkout, which is a configured repository. */
export interface ConfiguredRemote {
  readonly remote: string;
  readonly repository: Configured;
}

const SCHEME = /^(?:git\+)?(https?|ssh|git):\/\//;
/** `git@host:path`, as git reads what has no scheme and no slash before the colon. */
const SCP = /^(?:[^@/:]+@)?(\[[^\]]+\]|[^@/:[\]]+):(?!\/\/)(.+)$/;

/** True for addresses of one repository at one host, whatever the protocol and the user. */
export function isSameRepository(one: string, other: string): boolean {
  const [a, b] = [placeOf(one), placeOf(other)];
  if (a === undefined || b === undefined || a.host !== b.host || a.path !== b.path) return false;
  // Each protocol has a port of its own.
  return a.scheme !== b.scheme || a.port === b.port;
}

function placeOf(address: string) {
  const scheme = SCHEME.exec(address)?.[1];
  const [, host, rest] = scheme === undefined ? (SCP.exec(address) ?? []) : [];
  // A protocol that URL knows, so that it reads the host.
  const text = scheme === undefined ? `http://${host}/${rest}` : address.replace(SCHEME, 'http://');
  const url = scheme === undefined && host === undefined ? null : URL.parse(text);
  if (!url) return undefined;
  const path = url.pathname.replaceAll(/^\/+|\/+$/g, '').replace(/\.git$/, '');
  const port = /:(\d+)(?:\/|$)/.exec(text.slice('http://'.length))?.[1];
  return { scheme: scheme ?? 'ssh', host: url.hostname, port, path };
}

/**
 * The remote of a checkout that is a configured repository: that of the branch if it is one, else `origin`, else the first.
 */
export async function configuredRemote(
  git: Git,
  repositories: readonly Configured[],
): Promise<ConfiguredRemote | undefined> {
  if (repositories.length === 0) return undefined;
  const listed = await git.read(['remote', '-v'], 'git does not list the remotes');
  const found = listed.split('\n').flatMap((line) => {
    const [, remote, url] = /^(\S+)\t(.*) \((?!push)\w+\)(?: \[.*\])?$/.exec(line) ?? [];
    const repository = repositories.find((each) => url !== undefined && isSameRepository(each.url, url));
    return remote === undefined || repository === undefined ? [] : [{ remote, repository }];
  });
  const branch = await git.exec(['symbolic-ref', '--quiet', '--short', 'HEAD']);
  const own = await git.exec(['config', '--get', `branch.${branch.stdout.trim()}.remote`]);
  const preferred = [own.stdout.trim(), 'origin'];
  return preferred.map((name) => found.find(({ remote }) => remote === name)).find(Boolean) ?? found[0];
}
