import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { checkout, program, version } from '@hermes-fleet/installation';
import { CONSOLE, TRADER } from '../keys/layout.ts';
import type { Fingerprint } from './pid-file.ts';
import { type FleetPlan, memberEnv, type PlannedMember } from './plan.ts';

/** Variables that services read by themselves; others matter where the configuration names them. */
const READ_BY_SERVICES =
  /^(?:OTEL_\w+|LOG_LEVEL|NODE_OPTIONS|NODE_EXTRA_CA_CERTS|SSL_CERT_(?:FILE|DIR)|(?:HTTPS?|NO|ALL)_PROXY|\w+_API_KEY|ANTHROPIC_BASE_URL|MODEL_PACKAGES_DIR|CLAUDE_AGENT_SDK_DIR|SQLITE_TMPDIR|TZ)$/i;

/** The folders of a profile's configuration that the profile itself writes. */
const WRITTEN = new Set(['state', 'workspace', 'node_modules']);

/** The files below these paths, in one order; a path may be a file, or not be there. */
function filesIn(paths: readonly string[], isWanted: (name: string) => boolean = () => true): string[] {
  return paths.flatMap((path) => {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat?.isFile()) return [path];
    if (!stat?.isDirectory()) return [];
    const names = readdirSync(path).filter((name) => !WRITTEN.has(name) && isWanted(name));
    return filesIn(
      names.sort().map((name) => join(path, name)),
      isWanted,
    );
  });
}

const digestOf = (parts: Iterable<string | Buffer>): string => {
  const hash = createHash('sha256');
  for (const part of parts)
    hash
      .update(String(Buffer.byteLength(part)))
      .update('\n')
      .update(part);
  return hash.digest('hex');
};

export const digestOfFiles = (files: readonly string[]): string =>
  digestOf(files.flatMap((file) => [file, readFileSync(file)]));

/**
 * The digest of the program of a service and of the Node.js that runs it. Names of chunks have their digests, so that the first
 * file of a program in the package stands for all of them; in a checkout, all sources count for every service.
 */
export function programDigest(file: string): string {
  const root = checkout();
  const isSource = (name: string): boolean => !name.includes('.test.') && name !== 'testing';
  const sources =
    root === undefined ? [] : ['libs', 'services', 'package-lock.json'].map((path) => join(root, path));
  return digestOf([version(), process.version, digestOfFiles([file, ...filesIn(sources, isSource)])]);
}

/** The files of a service's configuration. */
export function configurationFiles(home: string, name: string): string[] {
  if (name === TRADER || name === CONSOLE) return filesIn([join(home, name)]);
  const packages = ['package.json', 'package-lock.json'].map((file) => join(home, 'packages', file));
  return filesIn([join(home, 'profiles', name), join(home, 'profiles/repositories.yaml'), ...packages]);
}

/** The variables of an environment that matter to a service with this configuration. */
function readVariables(env: NodeJS.ProcessEnv, configuration: string, own: NodeJS.ProcessEnv): string[] {
  const named = new Set(configuration.match(/\b[A-Z][A-Z0-9_]{2,}\b/g));
  const isRead = (name: string): boolean =>
    name in own || READ_BY_SERVICES.test(name) || named.has(name) || named.has(name.replace(/_FILE$/, ''));
  return Object.entries(env)
    .filter(([name, value]) => value !== undefined && isRead(name))
    .map(([name, value]) => `${name}=${value}`)
    .sort();
}

/** Makes the fingerprints of services that would be started now. The program is read once for all of them. */
export function fingerprints(plan: FleetPlan, entryPoint?: string) {
  const programs = new Map<string, string>();
  return (member: PlannedMember, env: NodeJS.ProcessEnv): Fingerprint => {
    const { name } = member;
    const file = entryPoint ?? program(name === TRADER || name === CONSOLE ? name : 'profile');
    const known = programs.get(file) ?? programDigest(file);
    programs.set(file, known);
    const files = configurationFiles(plan.home, name);
    const text = files.map((each) => readFileSync(each, 'utf8')).join('\n');
    const keys = join(plan.keysDir, name);
    return {
      program: known,
      configuration: digestOfFiles(files),
      environment: digestOf(readVariables(env, text, memberEnv(plan, member))),
      keys: existsSync(keys) ? digestOfFiles(filesIn([keys])) : '',
    };
  };
}

/**
 * The fingerprint of NATS or Prometheus: the file of its program, and `places`, its folder and port. Users and targets are no part
 * of it, because it reloads those.
 */
export function fingerprintOfServer(file: string, places: readonly string[]): Fingerprint {
  const stat = statSync(file, { throwIfNoEntry: false });
  const program = digestOf([file, `${stat?.size} ${stat?.mtimeMs}`]);
  return { program, configuration: digestOf(places), environment: '', keys: '' };
}

/** What differs between the start of a process and now, as the end of a sentence; undefined for nothing. */
export function changeSince(then: Fingerprint | undefined, now: Fingerprint): string | undefined {
  if (then === undefined) return 'an earlier version started it';
  const parts = [
    ...(then.program === now.program ? [] : ['the program']),
    ...(then.configuration === now.configuration ? [] : ['its configuration']),
    ...(then.environment === now.environment ? [] : ['its environment']),
    ...(then.keys === now.keys ? [] : ['its keys']),
  ];
  return parts.length === 0 ? undefined : `${parts.join(' and ')} changed`;
}
