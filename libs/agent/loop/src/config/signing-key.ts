import { spawnSync } from 'node:child_process';
import { FleetError } from '@hermes-fleet/protocol';
import { COMMAND_ENV, hasCode } from '@hermes-fleet/workspace';
import type { AgentConfig } from './config-yaml.ts';
import { secretFileProblem } from './secret-file.ts';

const TIMEOUT_MS = 10_000;
const KEY = { name: 'a private ssh key', content: 'its private key', make: 'create the key with ssh-keygen' };

/**
 * Signs a text with a private ssh key as git would sign a commit. Throws CONFIG_INVALID for
 * `workspace.commit.signing_key_file`, with what to do, if that fails or the key is not the gateway's alone. Whether commands
 * can reach it is for `createConfinement` to check.
 */
export function checkSigningKey(file: string): void {
  const problem = secretFileProblem(file, KEY) ?? signatureProblem(file);
  if (problem !== undefined) throw FleetError.ofKey('workspace.commit.signing_key_file', problem);
}

/** A warning where nothing keeps commands from reading the signing key; undefined else. */
export const exposedKey = ({
  tools,
  workspace,
}: Pick<AgentConfig, 'tools' | 'workspace'>): string | undefined =>
  workspace.commit.signing_key_file !== undefined && tools.shell.confine === 'unconfined'
    ? 'commands can read the key of workspace.commit.signing_key_file, and sign with it (tools.shell.confine: unconfined)'
    : undefined;

function signatureProblem(file: string): string | undefined {
  // An empty passphrase, so that none is asked for.
  const args = ['-Y', 'sign', '-n', 'git', '-P', '', '-f', file];
  const { error, status, stderr } = spawnSync('ssh-keygen', args, {
    cwd: '/',
    env: COMMAND_ENV,
    input: 'Hermes Fleet',
    encoding: 'utf8',
    timeout: TIMEOUT_MS,
    maxBuffer: 1024 * 1024,
    killSignal: 'SIGKILL',
  });
  if (hasCode(error, 'ENOENT'))
    return 'signing needs ssh-keygen, which is not installed; install openssh-client';
  if (error === undefined && status === 0) return undefined;
  const said = error?.message ?? lastLine(stderr);
  return `ssh-keygen cannot sign with ${file} (${said}); use a private key without a passphrase`;
}

const lastLine = (text: string): string => text.trim().split('\n').at(-1)?.slice(0, 200) ?? '';
