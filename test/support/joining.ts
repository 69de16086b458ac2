import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { type Fleet, ROOT, runProgram } from './fleet.ts';

const MAIN = join(ROOT, 'libs/cli/src/main.ts');

/** Ports of a block that no member of the fleet has; see ports.ts. */
const SPARE = [9225, 9226, 9227, 9229];

/** The `fleet` command as a process: its exit code and output. */
export function cli(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): ReturnType<typeof runProgram> {
  return runProgram(process.execPath, [MAIN, ...args], {
    env: { ...process.env, ...env },
    timeoutMs: 120_000,
  });
}

/** Another machine, as far as a test can have one: a folder of its own, that shares nothing with the fleet's. */
export interface OtherMachine {
  readonly dir: string;
  readonly port: number;
  /** The command line of `fleet join`, with options beside those that say where. */
  args(token: string, ...more: string[]): string[];
  join(token: string, ...more: string[]): ReturnType<typeof cli>;
  /** Starts `fleet join` without waiting for its end. */
  spawnJoin(token: string): ChildProcess;
  leave(...more: string[]): ReturnType<typeof cli>;
  spawnLeave(): ChildProcess;
  /** Ends what still runs. */
  end(): Promise<void>;
}

/** Makes a folder for a worker, whose gateway ends with the test. */
export function otherMachine(t: TestContext, fleet: Fleet, index = 0): OtherMachine {
  let stop = async (): Promise<void> => undefined;
  const root = tempDir(t, { closeFirst: () => stop() });
  const dir = join(root, 'worker');
  const port = (SPARE[index] ?? 0) + fleet.plan.portOffset;
  let tokens = 0;
  const args = (token: string, ...more: string[]): string[] => {
    tokens += 1;
    const file = join(root, `token-${tokens}`);
    writeFileSync(file, token, { mode: 0o600 });
    const where = ['--dir', dir, '--bind', `127.0.0.1:${port}`];
    return ['join', fleet.target('switch').url, '--token-file', file, ...where, ...more];
  };
  const env = { LOG_LEVEL: 'info' };
  const start = (line: readonly string[]): ChildProcess =>
    spawn(process.execPath, [MAIN, ...line], { env: { ...process.env, ...env }, stdio: 'ignore' });
  const machine: OtherMachine = {
    dir,
    port,
    args,
    join: (token, ...more) => cli(args(token, ...more), env),
    spawnJoin: (token) => start(args(token)),
    spawnLeave: () => start(['leave', '--dir', dir]),
    leave: (...more) => cli(['leave', '--dir', dir, ...more], env),
    async end() {
      await cli(['leave', '--dir', dir, '--now'], env);
    },
  };
  stop = machine.end;
  return machine;
}

/** Makes a join token at switch. */
export async function joinToken(
  fleet: Fleet,
  body: Record<string, unknown> = {},
): Promise<{ token: string; id: string }> {
  const { url } = fleet.target('switch');
  const reply = await fetch(`${url}/fleet/join-tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${fleet.operatorToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ endpoints: ['http://127.0.0.1:*'], ...body }),
  });
  const answer = (await reply.json()) as { token: string; id: string };
  if (reply.status !== 200) throw new Error(JSON.stringify(answer));
  return answer;
}
