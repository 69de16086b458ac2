import type { Git, GitCall, GitPlace, Setting } from '../git/git.ts';
import type { CommandResult } from '../process/run-command.ts';
import type { Remote } from './remote.ts';

/** Why a remote does not give what it was asked for. */
export interface RemoteFault {
  /** What is wrong, and the remedy. */
  readonly detail: string;
  /** True if the remote cannot be reached, or is out of order: it may answer later. */
  readonly isAway: boolean;
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
 * command only, and is sent to the host of the URL only: redirects are not followed. Throws CONFIG_INVALID when the token cannot be read.
 */
export function askRemote(
  git: Git,
  place: GitPlace,
  remote: Remote,
  args: readonly string[],
  call: GitCall,
): Promise<CommandResult> {
  const { protocol, origin, username } = new URL(remote.url);
  const token = remote.token();
  const settings: Setting[] = [
    [`protocol.${protocol.slice(0, -1)}.allow`, 'always'],
    ['http.followRedirects', 'false'],
    ...STALLED,
    ...(remote.caFile === undefined ? [] : [['http.sslCAInfo', remote.caFile] as const]),
    ...(token === undefined ? [] : [[`credential.${origin}.helper`, HELPER] as const]),
  ];
  const secrets: Record<string, string> =
    token === undefined
      ? {}
      : { FLEET_REMOTE_USER: decodeURIComponent(username) || DEFAULT_USER, FLEET_REMOTE_TOKEN: token };
  return git.exec({ ...place, settings, env: { ...place.env, ...secrets } }, args, call);
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

const noBranch = (remote: Remote, branch: string): RemoteFault => ({
  detail: `${remote.url} has no branch ${branch}: push it, or name another one as base`,
  isAway: false,
});

/** Reads the output of a git command that asked a remote for a branch or a commit, and failed. It is text of the remote in part. */
export function faultOf(remote: Remote, branch: string, { stderr, killed }: CommandResult): RemoteFault {
  const { url, tokenName } = remote;
  const gone = (detail: string): RemoteFault => ({ detail: `${url} ${detail}`, isAway: false });
  const status = /The requested URL returned error: (\d{3})/.exec(stderr)?.[1] ?? '';
  if (/couldn't find remote ref/.test(stderr)) return noBranch(remote, branch);
  if (/not our ref|unadvertised object/.test(stderr)) return gone(`does not give ${branch}`);
  const isRefused = /Authentication failed|could not read (?:Username|Password)/.test(stderr);
  if (isRefused || ['401', '403'].includes(status))
    return gone(
      tokenName === undefined
        ? 'wants a token: name one by token_env or token_file'
        : `refuses the token of ${tokenName}: it may have expired, or lack the right to read`,
    );
  if (/repository '.*' not found/.test(stderr) || status === '404')
    return gone(
      `does not exist, or ${tokenName === undefined ? 'wants a token' : `the token of ${tokenName} may not read it`}`,
    );
  if (status.startsWith('3')) return gone('has moved: a redirect is not followed, so change the url');
  if (/certificate|SSL|TLS/i.test(stderr))
    return gone(`cannot be trusted (${reasonIn(stderr)}): name its authorities by ca_file`);
  const why = killed === undefined ? reasonIn(stderr) : 'it took too long';
  return { detail: `${url} cannot be reached: ${why}`, isAway: true };
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
