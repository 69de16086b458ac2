import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import type { CommandUser } from '../src/confinement/command-user.ts';
import { makeSharedDirectory } from '../src/confinement/confinement.ts';
import { type ConfinementOptions, createConfinement } from '../src/confinement/create-confinement.ts';
import { COMMAND_ENV } from '../src/process/command-env.ts';
import { type CommandLine, type CommandResult, runCommand } from '../src/process/run-command.ts';
import { makePlace, SECRET } from './place.ts';

/** What a command of one context may try to reach. Each file and environment here has the secret in it. */
export interface Scene {
  readonly stateDir: string;
  /** A process of the gateway: in the state directory, with the token open as its standard input. */
  readonly gateway: number;
  /** A context with a file, a folder that it opened to all, a file of this name in each shared folder, and a process. */
  readonly neighbour: { readonly tree: string; readonly name: string; readonly pid: number };
  /** A folder of the machine with a file, open to every user. */
  readonly outside: string;
  /** Runs a script as a command of the context, in its tree. */
  run(script: string): Promise<CommandResult>;
}

/** Sets up a gateway with two contexts whose commands are confined so. */
export async function openScene(
  t: TestContext,
  options: Pick<ConfinementOptions, 'confine' | 'programs'>,
): Promise<Scene> {
  const place = makePlace(t);
  const { stateDir } = place;
  const confinement = await createConfinement({ ...place, ...options, clock: systemClock, log: silentLog });
  const start = async (line: CommandLine, o: SpawnOptions): Promise<ChildProcess> => {
    const child = spawn(line.command, line.args, o);
    t.after(() => child.kill('SIGKILL'));
    await once(child.stdout ?? child, child.stdout ? 'data' : 'spawn');
    return child;
  };

  async function context(name: string) {
    const path = join(place.workspaceRoot, 'contexts', name);
    const lease = await confinement.users?.lease(path);
    if (lease) t.after(() => lease.release());
    const tree = join(path, 'tree');
    await makeSharedDirectory(tree, confinement.otherUser, lease?.user);
    const lineOf = (script: string): CommandLine => {
      const user: { user?: CommandUser } = lease ? { user: lease.user } : {};
      return confinement.wrap('/bin/sh', ['-c', script], { writable: [tree], readOnly: [], ...user });
    };
    const limits = { timeoutMs: 60_000, keepBytes: 10_000, maxBytes: 1e6, clock: systemClock };
    return {
      tree,
      lineOf,
      run: (script: string) => runCommand(lineOf(script), { cwd: tree, env: COMMAND_ENV, ...limits }),
    };
  }

  const [mine, theirs] = [await context('mine'), await context('theirs')];
  const name = `hermes-test-${process.pid}-${Math.random().toString(36).slice(2)}`;
  const shared = ['/tmp', '/dev/shm'].map((folder) => join(folder, name));
  t.after(() => {
    for (const path of shared) rmSync(path, { force: true });
  });
  const script = `umask 007; mkdir open; chmod 777 open; echo ${SECRET} | tee ${shared.join(' ')} > file
    echo $$; while :; do sleep 1; done`;
  const env = { ...COMMAND_ENV, S: SECRET };
  const { pid = 0 } = await start(theirs.lineOf(script), {
    cwd: theirs.tree,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const token = openSync(join(stateDir, 'token'), 'r');
  const held: SpawnOptions = { cwd: stateDir, env, stdio: [token, 'ignore', 'ignore'] };
  const { pid: gateway = 0 } = await start({ command: 'sleep', args: ['600'] }, held);
  const outside = mkdtempSync('/var/tmp/hermes-');
  t.after(() => rmSync(outside, { recursive: true, force: true }));
  chmodSync(outside, 0o777);
  writeFileSync(join(outside, 'file'), SECRET);
  chmodSync(join(outside, 'file'), 0o644);
  return { stateDir, gateway, neighbour: { tree: theirs.tree, name, pid }, outside, run: mine.run };
}
