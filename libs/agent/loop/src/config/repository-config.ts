import { BranchName, RepositoryName } from '@hermes-fleet/protocol/handshake';
import { z } from 'zod';
import { whole } from './model-config.ts';
import { CommandVariable } from './tools-config.ts';

/** Commands of a set-up: docs/configuration.md#set-up. */
export const Setup = z
  .union([z.string().min(1), z.array(z.string().min(1)).max(50)])
  .default([])
  .transform((commands) => [commands].flat());
export const SetupTimeout = whole(1, 86_400).default(1800);

const MAX_REPOSITORIES = 100;

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,99}$/;
/** These decide how the programs run that confine a command and give it its network. */
const STEERING =
  /^(?:PATH|LANG|TERM|ENV|IFS|SHELLOPTS|BASH_.*|LD_.*|MALLOC_.*|GLIBC_.*|NODE_.*|LC_.*|GIT_.*)$/;

/** How the tokens of forges begin, some of which take one in place of a user name. */
const TOKEN = /^(?:gh[a-z]_|github_pat_|gl[a-z]{2,}-)/;

/** It goes into git's credential protocol, which a line feed would end. */
const USER_NAME = /^(?:[\w.~+-]|%40)*$/;

/** Why git cannot fetch from this address; undefined when it can. The address itself may hold a password. */
function urlProblem(text: string): string | undefined {
  if (!URL.canParse(text) || /[\s\p{C}]/u.test(text))
    return 'must be an address such as https://github.com/acme/web.git';
  const { protocol, hostname, username, password, pathname, search, hash } = new URL(text);
  if (password !== '' || TOKEN.test(username))
    return 'must have no password or token: put it into a variable, and name that as token_env';
  if (!USER_NAME.test(username))
    return 'may have a user name of letters, digits, and . _ ~ + - only, with %40 for @';
  if (protocol === 'http:' && !/^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname))
    return 'must begin with https: over http, everyone on the way could read the token and change the files';
  if (protocol !== 'http:' && protocol !== 'https:')
    return 'must begin with https: the fleet fetches over https only, with a token';
  if (pathname === '/' || search !== '' || hash !== '')
    return 'must name a repository at its host, and nothing behind that';
  return undefined;
}

const Url = z.string().superRefine((text, ctx) => {
  const message = urlProblem(text);
  if (message !== undefined) ctx.addIssue({ code: 'custom', message });
});

const BranchPattern = z
  .string()
  .refine(
    (pattern) => BranchName.safeParse(pattern.replaceAll('*', 'x')).success,
    'must be a branch, with * for a part of its name and ** for any: release/*',
  );

const file = z
  .string()
  .min(1)
  .max(1000)
  .refine((path) => !path.includes('\0'), 'must not contain a null byte');

const SecretName = CommandVariable.refine(
  (name) => !STEERING.test(name),
  'steers programs, and is no secret: set it in tools.shell.env',
);

const Repository = z
  .strictObject({
    url: Url.describe('its address, https and without a password; http only on this machine'),
    base: BranchName.default('main').describe('the branch that contexts start from'),
    bases: z
      .array(BranchPattern)
      .max(50)
      .default([])
      .describe('further branches that a dispatch may name: `*` is a part of a name without `/`, `**` any'),
    depth: whole(0, 1_000_000).default(100).describe('commits of history that are fetched; `0`: all'),
    token_env: z
      .string()
      .regex(VARIABLE, 'must be the name of an environment variable, not the token itself')
      .optional()
      .describe('the token with which it is fetched; without one, none is sent'),
    token_file: file
      .optional()
      .describe('a file with the token, in place of `token_env`, which only the gateway may read'),
    ca_file: file.optional().describe("issuers of the host's certificate, in place of those of the system"),
    allow_stale_base: z
      .boolean()
      .default(false)
      .describe('`true`: contexts start from the last fetched commit while the host is away'),
    setup: Setup.describe('as `workspace.setup`, for this repository'),
    setup_timeout_s: SetupTimeout.describe('as `workspace.setup_timeout_s`, for this repository'),
    setup_secrets: z
      .array(SecretName)
      .max(50)
      .default([])
      .describe('variables of the gateway that only the commands of `setup` get'),
  })
  .superRefine(({ token_env, token_file, setup, setup_secrets }, ctx) => {
    const add = (path: string, message: string): void =>
      ctx.addIssue({ code: 'custom', path: [path], message });
    if (token_env !== undefined && token_file !== undefined)
      add('token_file', 'is there beside token_env; keep one of the two');
    if (setup_secrets.length > 0 && setup.length === 0)
      add('setup_secrets', 'is for the commands of setup, and there are none; add them, or remove it');
  });

export type RepositoryConfig = z.output<typeof Repository>;

const Name = RepositoryName.refine(
  (name) => name.toLowerCase() !== 'bundle',
  'it is reserved for checkouts that callers send; choose another name',
);

/** The repositories that tasks may name, by their names: docs/configuration.md#repositories. */
export const Repositories = z
  .record(Name, Repository)
  .superRefine((repositories, ctx) => {
    const names = Object.keys(repositories);
    for (const { name, message } of nameProblems(names))
      ctx.addIssue({ code: 'custom', path: [name], message });
    if (names.length > MAX_REPOSITORIES)
      ctx.addIssue({ code: 'custom', message: `must have at most ${MAX_REPOSITORIES} repositories` });
  })
  .default({});

/** The file that has the repositories of all profiles. */
export const SharedRepositories = z.strictObject({ repositories: Repositories });

/** The names that differ from an earlier one only in case: folders have them, and some disks see one name there. */
export function nameProblems(names: readonly string[]): { name: string; message: string }[] {
  return names.flatMap((name, index) => {
    const other = names.slice(0, index).find((each) => each.toLowerCase() === name.toLowerCase());
    if (other === undefined || other === name) return [];
    return [{ name, message: `differs from ${other} only in case; choose another name` }];
  });
}
