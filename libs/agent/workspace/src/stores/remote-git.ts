import type { Git, GitCall, GitPlace, Setting } from '../git/git.ts';
import type { CommandLine, CommandResult } from '../process/run-command.ts';
import type { Remote } from './remote.ts';

/** Why a remote does not give what it was asked for. */
export interface RemoteFault {
  /** Names the fault, and the remedy. */
  readonly detail: string;
  /** True if the remote cannot be reached, or is out of order: it may answer later. */
  readonly isAway: boolean;
  /** True if waiting may help. */
  readonly mayPass: boolean;
}

/** A connection that transfers less than this for so long is given up. */
const STALLED: readonly Setting[] = [
  ['http.lowSpeedLimit', '1000'],
  ['http.lowSpeedTime', '60'],
];

/** Answers git's question for the password, and keeps no answer of the remote. */
const HELPER =
  '!f() { [ "$1" != get ] || printf "username=%s\\npassword=%s\\n" "$FLEET_REMOTE_USER" "$FLEET_REMOTE_TOKEN"; }; f';
/** GitHub wants this name; others take any. */
const DEFAULT_USER = 'x-access-token';

/**
 * Runs one git command that may reach the remote, by the scheme of its URL and no other. The token is in the environment of that
 * command only, and is sent to the host of the URL only: redirects are not followed. `records`: as in a `CommandLine`. Throws
 * CONFIG_INVALID when the token cannot be read.
 */
export function askRemote(
  git: Git,
  place: GitPlace,
  remote: Remote,
  args: readonly string[],
  { records, ...call }: GitCall & Pick<CommandLine, 'records'>,
): Promise<CommandResult> {
  const { protocol, origin, username } = new URL(remote.url);
  const token = remote.token();
  const settings: Setting[] = [
    [`protocol.${protocol.slice(0, -1)}.allow`, 'always'],
    // Otherwise small fetches stay single files, of which nothing makes packs.
    ['fetch.unpackLimit', '1'],
    ['http.followRedirects', 'false'],
    ...STALLED,
    ...(remote.caFile === undefined ? [] : [['http.sslCAInfo', remote.caFile] as const]),
    ...(token === undefined ? [] : [[`credential.${origin}.helper`, HELPER] as const]),
  ];
  const secrets: Record<string, string> =
    token === undefined
      ? {}
      : { FLEET_REMOTE_USER: decodeURIComponent(username) || DEFAULT_USER, FLEET_REMOTE_TOKEN: token };
  const wrap: GitPlace['wrap'] = (command, given) => ({ ...place.wrap(command, given), records });
  return git.exec({ ...place, wrap, settings, env: { ...place.env, ...secrets } }, args, call);
}

const CHECK_MS = 10_000;
const NO_MATCH = 2;

/** Asks the remote for its branch, within 10 s. Resolves with what is wrong; undefined if nothing is. Throws as `askRemote`. */
export async function checkRemote(
  git: Git,
  remote: Remote,
  signal?: AbortSignal,
): Promise<RemoteFault | undefined> {
  const place: GitPlace = {
    cwd: '/',
    gitDir: undefined,
    workTree: undefined,
    wrap: (command, args) => ({ command, args }),
  };
  const args = ['ls-remote', '--exit-code', '--', remote.url, `refs/heads/${remote.base}`];
  const result = await askRemote(git, place, remote, args, { timeoutMs: CHECK_MS, signal });
  if (result.exitCode === 0) return undefined;
  if (result.exitCode === NO_MATCH) return noBranch(remote, remote.base);
  return faultOf(remote, remote.base, result);
}

const noBranch = (remote: Remote, branch: string): RemoteFault =>
  lasting(`${remote.url} has no branch ${branch}: push it, or name another one as base`);

const lasting = (detail: string): RemoteFault => ({ detail, isAway: false, mayPass: false });

/** Git's words for a remote that does not answer, or not to the end. */
const AWAY =
  /unable to access|Could not resolve|Failed to connect|RPC failed|early EOF|hung up|disconnect|timed out/i;

/** Reads the output of a git command that asked a remote for a branch or a commit, and failed. It is text of the remote in part. */
export function faultOf(remote: Remote, wanted: string, { stderr, killed }: CommandResult): RemoteFault {
  const { url, tokenName } = remote;
  const status = /The requested URL returned error: (\d{3})/.exec(stderr)?.[1] ?? '';
  if (/couldn't find remote ref/.test(stderr)) return noBranch(remote, wanted);
  if (/not our ref|unadvertised object/.test(stderr)) return lasting(`${url} does not give ${wanted}`);
  const isRefused = /Authentication failed|could not read (?:Username|Password)/.test(stderr);
  if (isRefused || ['401', '403'].includes(status))
    return lasting(
      tokenName === undefined
        ? `${url} wants a token: name one by token_env or token_file`
        : `${url} refuses the token of ${tokenName}: it may have expired, or lack the right to read`,
    );
  if (/repository '.*' not found/.test(stderr) || status === '404')
    return lasting(
      `${url} does not exist, or ${tokenName === undefined ? 'wants a token' : `the token of ${tokenName} may not read it`}`,
    );
  if (status.startsWith('3'))
    return lasting(`${url} has moved: a redirect is not followed, so change the url`);
  if (/certificate|SSL|TLS/i.test(stderr))
    return lasting(`${url} cannot be trusted (${reasonIn(stderr)}): name its authorities by ca_file`);
  const isAway = killed === 'timeout' || AWAY.test(stderr);
  const why = killed === 'timeout' ? 'it took too long' : reasonIn(stderr);
  if (isAway) return { detail: `${url} cannot be reached: ${why}`, isAway, mayPass: true };
  return { detail: `${url} cannot be fetched here: ${why}`, isAway, mayPass: true };
}

const MAX_REASON = 200;

/** The first line that says more than that something failed, without control characters. */
function reasonIn(stderr: string): string {
  const line =
    stderr.split('\n').find((each) => /^(?:fatal|error|remote): /.test(each)) ?? 'git says nothing';
  return line
    .replace(/^(?:fatal|error|remote): /, '')
    .replace(/\p{C}/gu, ' ')
    .slice(0, MAX_REASON)
    .trim();
}
