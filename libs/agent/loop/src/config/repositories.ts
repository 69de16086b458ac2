import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type FieldError, FleetError } from '@hermes-fleet/protocol';
import { hasCode, type Remote, type RemoteRepository } from '@hermes-fleet/workspace';
import type { AgentConfig } from './config-yaml.ts';
import type { ReadableEnv } from './provider-address.ts';
import type { RepositoryConfig } from './repository-config.ts';
import { secretFileProblem } from './secret-file.ts';
import { type SetUpPlace, setUpOf } from './set-up.ts';

type Named = Readonly<Record<string, RepositoryConfig>>;

const MAX_TOKEN_BYTES = 65_536;
const TOKEN = { name: 'one with the token', content: 'the token', make: 'write the token into it' };
/** Basic authentication has the token in a header. */
const TOKEN_FORM = /^[\x21-\x7e]+$/;
/** A shorter value would be found in many files that do not have it from the variable. */
const MIN_SECRET_CHARS = 8;

/** The repositories with the paths of their files as seen from `dir`, made absolute. */
export const withFilesIn = (repositories: Named, dir: string): Record<string, RepositoryConfig> =>
  Object.fromEntries(
    Object.entries(repositories).map(([name, { token_file: token, ca_file: ca, ...others }]) => [
      name,
      {
        ...others,
        ...(token !== undefined && { token_file: resolve(dir, token) }),
        ...(ca !== undefined && { ca_file: resolve(dir, ca) }),
      },
    ]),
  );

/**
 * The problems of what repositories take from elsewhere: tokens, certificates, and secrets of set-ups. Each has its key below the
 * names (`web.token_env`), and no value.
 */
export function repositoryProblems(
  repositories: Named,
  tools: AgentConfig['tools'],
  env: ReadableEnv,
): FieldError[] {
  return Object.entries(repositories).flatMap(([name, repository]) => {
    const { token_env: token, ca_file: ca, setup_secrets: secrets } = repository;
    const checks: (readonly [string, () => void])[] = [
      [tokenKey(repository), () => token !== undefined && checkUnshared(token, tools)],
      [tokenKey(repository), () => tokenOf(repository, env)],
      ['ca_file', () => ca !== undefined && checkIssuers(ca)],
      ...secrets.map(
        (variable, index) => [`setup_secrets[${index}]`, () => secretOf(variable, tools, env)] as const,
      ),
    ];
    return checks.flatMap(([key, check]) => {
      const reason = reasonOf(check);
      return reason === undefined ? [] : [{ path: `${name}.${key}`, reason }];
    });
  });
}

/** A configured repository as the workspace has it; its token is read when it is needed. */
export function remoteOf(name: string, repository: RepositoryConfig, env: ReadableEnv): Remote {
  const { url, base, depth, ca_file: caFile, token_env: variable, token_file: file } = repository;
  const patterns = repository.bases.map(patternOf);
  const source = file ?? variable;
  return {
    name,
    url,
    base,
    allows: (branch) => branch === base || patterns.some((pattern) => pattern.test(branch)),
    depth,
    allowsStaleBase: repository.allow_stale_base,
    caFile,
    tokenName: source && `${tokenKey(repository)} (${source})`,
    token: () => atKey(`repositories.${name}.${tokenKey(repository)}`, () => tokenOf(repository, env)),
  };
}

/** The configured repositories, and their set-ups, whose secrets are read when they run. */
export function repositoriesOf(config: AgentConfig, env: ReadableEnv, place: SetUpPlace): RemoteRepository[] {
  return Object.entries(config.workspace.repositories).map(([name, repository]) => {
    const { setup_secrets: variables } = repository;
    const setUp = setUpOf(repository, config, place, `repositories.${name}.setup`);
    const secrets = () =>
      atKey(`repositories.${name}.setup_secrets`, () =>
        Object.fromEntries(variables.map((variable) => [variable, secretOf(variable, config.tools, env)])),
      );
    return {
      ...remoteOf(name, repository, env),
      setUp: setUp && { ...setUp, ...(variables.length > 0 && { secrets }) },
    };
  });
}

/** The repositories as callers may see them: their addresses without a user name. */
export function shownRepositories({ workspace }: Pick<AgentConfig, 'workspace'>) {
  return Object.entries(workspace.repositories).map(([name, { url, base }]) => {
    const shown = new URL(url);
    shown.username = '';
    return { name, url: shown.href, base };
  });
}

/** A pattern of `bases`: `*` is a part of a name without a slash, `**` any. */
const patternOf = (pattern: string): RegExp =>
  new RegExp(
    `^${pattern
      .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
      .replace(/\*+/g, (stars) => (stars.length > 1 ? '.*' : '[^/]*'))}$`,
    'u',
  );

const tokenKey = ({ token_file: file }: RepositoryConfig): 'token_file' | 'token_env' =>
  file === undefined ? 'token_env' : 'token_file';

/** Throws CONFIG_INVALID with the problem alone. */
function tokenOf(
  { token_env: variable, token_file: file }: RepositoryConfig,
  env: ReadableEnv,
): string | undefined {
  if (file === undefined && variable === undefined) return undefined;
  const token = file === undefined ? variableOf(variable ?? '', env) : contentOf(file);
  if (TOKEN_FORM.test(token)) return token;
  throw invalid('the token has characters that no header can carry: use printable ASCII without white space');
}

function variableOf(variable: string, env: ReadableEnv): string {
  const value = env.read(variable);
  if (value !== undefined) return value;
  throw invalid(
    `${variable} is not set: export it, or put its value in the file that ${variable}_FILE names`,
  );
}

function contentOf(file: string): string {
  const problem = secretFileProblem(file, TOKEN);
  if (problem !== undefined) throw invalid(problem);
  const text = readFileSync(file, 'utf8').trim();
  if (text === '') throw invalid(`${file} is empty; write the token into it`);
  if (text.length > MAX_TOKEN_BYTES) throw invalid(`${file} has more than a token`);
  return text;
}

function checkUnshared(variable: string, tools: AgentConfig['tools']): void {
  if (Object.hasOwn(tools.shell.env, variable))
    throw invalid(`${variable} is in tools.shell.env too, which every command gets; remove it there`);
}

function secretOf(variable: string, tools: AgentConfig['tools'], env: ReadableEnv): string {
  checkUnshared(variable, tools);
  const value = variableOf(variable, env);
  if (value.length >= MIN_SECRET_CHARS) return value;
  throw invalid(
    `${variable} is shorter than ${MIN_SECRET_CHARS} characters, so that no search could tell whether a set-up left it in a file; use a longer secret`,
  );
}

function checkIssuers(file: string): void {
  try {
    if (readFileSync(file, 'utf8').includes('-----BEGIN CERTIFICATE-----')) return;
  } catch (cause) {
    if (!hasCode(cause, 'ENOENT', 'ENOTDIR', 'EACCES', 'EISDIR')) throw cause;
    throw invalid(`${file} cannot be read; name a file with certificates in PEM`);
  }
  throw invalid(`${file} has no certificate in PEM`);
}

const invalid = (reason: string): FleetError => new FleetError('CONFIG_INVALID', reason);

function reasonOf(check: () => void): string | undefined {
  try {
    check();
    return undefined;
  } catch (thrown) {
    if (thrown instanceof FleetError && thrown.code === 'CONFIG_INVALID') return thrown.message;
    throw thrown;
  }
}

function atKey<T>(key: string, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof FleetError && thrown.code === 'CONFIG_INVALID')
      throw FleetError.ofKey(key, thrown.message, thrown);
    throw thrown;
  }
}
