import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { memberEnv } from '@hermes-fleet/cli';
import { type Fleet, ROOT, until } from './fleet.ts';
import { freeOffset } from './ports.ts';

/** A replica of a profile as a process beside a fleet (docs/machines.md#replicas-of-a-profile). */
export interface Replica {
  readonly name: string;
  /** Where it listens; a start moves it to another port, as a new container has another address. */
  url(): string;
  log(): string;
  exitCode(): number | null;
  start(): Promise<void>;
  end(signal: NodeJS.Signals): Promise<void>;
}

export interface ReplicaOptions {
  readonly profile: string;
  readonly name: string;
  /** The folder of its state; one of its own by default. */
  readonly stateDir?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A replica that is not started. It has the profile's folder and keys, and a state and a workspace of its own. */
export function replica(fleet: Fleet, { profile, name, stateDir, env: own = {} }: ReplicaOptions): Replica {
  const planned = fleet.plan.profiles.find((each) => each.name === profile);
  if (!planned) throw new Error(`no profile ${profile}`);
  let child: ChildProcess | undefined;
  let url = '';
  let log = '';
  return {
    name,
    url: () => url,
    log: () => log,
    exitCode: () => child?.exitCode ?? null,
    async start() {
      const port = 9219 + (await freeOffset());
      url = `http://127.0.0.1:${port}`;
      const member = {
        ...planned,
        stateDir: stateDir ?? join(fleet.dir, 'state', name),
        workspaceDir: join(fleet.dir, 'workspaces', name),
      };
      const env = {
        PATH: process.env.PATH,
        ...memberEnv(fleet.plan, member),
        [`${profile.toUpperCase()}_PORT`]: String(port),
        HERMES_NAME: name,
        ...own,
      };
      const main = join(ROOT, 'services/profile/src/main.ts');
      const started = spawn(process.execPath, [main, '--profile', profile], { cwd: ROOT, env });
      child = started;
      for (const stream of [started.stdout, started.stderr])
        stream.on('data', (chunk) => {
          log += chunk;
        });
      await until(async () => {
        if (started.exitCode !== null) throw new Error(`${name} ended with ${started.exitCode}:\n${log}`);
        return (await fetch(`${url}/ready`).catch(() => undefined))?.status === 200;
      }, `${name} to be ready`);
    },
    async end(signal) {
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill(signal);
      await gone;
    },
  };
}
