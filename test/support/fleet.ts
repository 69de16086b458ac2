import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { TestContext } from 'node:test';
import {
  type FleetPlan,
  fleetDown,
  fleetUp,
  keyPaths,
  OPERATOR,
  type Outcome,
  planFleet,
  type RunningProcess,
  readSecret,
  runningProcess,
  tokenVariable,
  waitUntilSettled,
} from '@hermes-fleet/cli';
import { type BusConnection, consume, inboxPrefix } from '@hermes-fleet/events';
import { type CloudEvent, systemClock } from '@hermes-fleet/protocol';
import { silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { withoutMembers } from './part-of-fleet.ts';
import { freeOffset } from './ports.ts';
import type { Target } from './rpc.ts';

export const ROOT = resolve(import.meta.dirname, '../..');

/** A whole fleet as plain processes: real nats-server, real gateways, and a separate folder. */
export interface Fleet {
  readonly plan: FleetPlan;
  readonly dir: string;
  readonly operatorToken: string;
  /** The token that `from` shows to `to`. */
  tokenOf(from: string, to: string): Promise<string>;
  /** The profile as the operator sees it, or as whoever has this token. */
  target(profile: string, token?: string | undefined): Target;
  process(name: string): RunningProcess;
  /** SIGKILL, as a crash of one process; resolves when it is gone. */
  kill(name: string): Promise<void>;
  /** Starts whatever does not run. */
  up(): Promise<void>;
  /** Sends SIGTERM and resolves with the exit, as the log tells it. */
  terminate(name: string): Promise<void>;
  log(name: string): string;
  metrics(profile: string): Promise<string>;
  bus: BusConnection;
}

/** The differences of a test's fleet from the shipped one. */
export interface FleetChanges {
  /** The text of a profile's fleet.yaml, from the shipped one. */
  readonly fleetYaml?: (profile: string, shipped: string) => string;
  /** The text of a profile's config.yaml, from the shipped one. */
  readonly configYaml?: (profile: string, shipped: string) => string;
  /** The profiles that run, and the trader if it is named; the others know no other peer. Default: all of them. */
  readonly only?: readonly string[];
  /** True: the console runs too. */
  readonly console?: boolean;
  /** Is called before the start. */
  readonly onPlanned?: (plan: FleetPlan) => void;
  /** Secrets beside the fleet's own: by profile, by variable. */
  readonly secrets?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Starts a fleet on free ports in a new folder, and stops it when the test ends. */
export async function startFleet(
  t: TestContext,
  env: Record<string, string> = {},
  changes: FleetChanges = {},
): Promise<Fleet> {
  let stop = async (): Promise<unknown> => undefined;
  const dir = tempDir(t, { closeFirst: () => stop() });
  const { fleetYaml, configYaml, only } = changes;
  const root = fleetYaml || configYaml || only ? ownRoot(join(dir, 'root'), changes) : ROOT;
  const all = planFleet({ root, dir, portOffset: await freeOffset() });
  const planned = only ? { ...all, profiles: all.profiles.filter(({ name }) => only.includes(name)) } : all;
  // Fleets of tests share one compile cache: filling one for each costs more than the fleet itself.
  const cacheDir = process.env.NODE_COMPILE_CACHE ?? planned.cacheDir;
  const plan = { ...planned, cacheDir };
  changes.onPlanned?.(plan);
  for (const [profile, secrets] of Object.entries(changes.secrets ?? {})) {
    mkdirSync(join(plan.keysDir, profile), { recursive: true, mode: 0o700 });
    for (const [variable, value] of Object.entries(secrets))
      writeFileSync(keyPaths(plan.keysDir).variable(profile, variable), value, { mode: 0o400 });
  }
  const options = {
    plan,
    env: { ...process.env, LOG_LEVEL: 'info', ...env },
    clock: systemClock,
    log: silentLog,
    withConsole: changes.console ?? false,
    withTrader: only?.includes(all.trader.name) ?? true,
  };
  stop = () => fleetDown({ plan, clock: systemClock, graceMs: 10_000 });

  const up = async (): Promise<void> => {
    const outcomes = await fleetUp(options);
    const failed = outcomes.filter(({ state }) => state === 'failed');
    if (failed.length > 0) throw new Error(failed.map(describe).join('\n'));
    const silent = await waitUntilSettled({
      url: plan.profiles[0]?.url ?? '',
      deadlineMs: 30_000,
      clock: systemClock,
    });
    if (silent.length > 0) throw new Error(`switch has not heard of ${silent.join(', ')}`);
  };
  await up();

  const paths = keyPaths(plan.keysDir);
  const operatorToken = readFileSync(paths.operatorToken, 'utf8').trim();
  const process_ = (name: string): RunningProcess => {
    const running = runningProcess(plan.runDir, name);
    if (running === undefined) throw new Error(`${name} is not running`);
    return running;
  };
  const end = async (name: string, signal: NodeJS.Signals): Promise<void> => {
    const { pid } = process_(name);
    process.kill(pid, signal);
    await until(() => runningProcess(plan.runDir, name) === undefined, `${name} to end after ${signal}`);
  };
  const memberOf = (profile: string) => {
    const found = plan.members.find(({ name }) => name === profile);
    if (!found) throw new Error(`no member ${profile}`);
    return found;
  };
  return {
    plan,
    dir,
    operatorToken,
    target: (profile, ...rest) => ({
      url: memberOf(profile).url,
      token: rest.length > 0 ? rest[0] : operatorToken,
    }),
    tokenOf: async (from, to) => readSecret(paths.variable(from, tokenVariable(from, to))) ?? '',
    process: process_,
    kill: (name) => end(name, 'SIGKILL'),
    terminate: (name) => end(name, 'SIGTERM'),
    up,
    log: (name) => readFileSync(join(dir, 'logs', `${name}.log`), 'utf8'),
    metrics: async (profile) => (await fetch(`${memberOf(profile).url}/metrics`)).text(),
    bus: {
      servers: [plan.nats.url],
      user: readSecret(paths.variable(OPERATOR, 'NATS_USER')) ?? '',
      pass: readSecret(paths.variable(OPERATOR, 'NATS_PASSWORD')) ?? '',
      name: 'test',
      inboxPrefix: inboxPrefix(OPERATOR),
    },
  };
}

/** The parts of the repository that a member needs, with changed profiles. */
function ownRoot(root: string, { fleetYaml, configYaml, only }: FleetChanges): string {
  const profiles = join(root, 'deploy/profiles');
  cpSync(join(ROOT, 'deploy/profiles'), profiles, { recursive: true });
  for (const service of ['deploy/trader', 'deploy/console'])
    cpSync(join(ROOT, service), join(root, service), { recursive: true });
  symlinkSync(join(ROOT, 'services'), join(root, 'services'));
  const members = ['trader', ...readdirSync(profiles)];
  const absent = only ? members.filter((name) => !only.includes(name)) : [];
  for (const name of readdirSync(profiles)) {
    if (!statSync(join(profiles, name)).isDirectory()) continue;
    const edit = (file: string, change: (text: string) => string): void => {
      const path = join(profiles, name, file);
      writeFileSync(path, change(readFileSync(path, 'utf8')));
    };
    edit('fleet.yaml', (text) => withoutMembers(fleetYaml?.(name, text) ?? text, absent));
    // Confined servers see the repository itself, not this folder.
    edit('config.yaml', (text) =>
      withoutMembers(configYaml?.(name, text) ?? text, absent).replaceAll(/\$\{HERMES_APP[^}]*\}/g, ROOT),
    );
  }
  return root;
}

const describe = ({ name, state, reason }: Outcome): string => `${name}: ${state} ${reason ?? ''}`;

/** Reads events of the fleet's stream from its start until `enough` says so. */
export async function readEvents(
  fleet: Fleet,
  enough: (events: readonly CloudEvent[]) => boolean,
  timeoutMs = 60_000,
): Promise<CloudEvent[]> {
  const events: CloudEvent[] = [];
  const stop = new AbortController();
  const timeout = setTimeout(() => stop.abort(), timeoutMs);
  try {
    await consume({
      connection: fleet.bus,
      filter: 'fleet.task.>',
      fromStart: true,
      signal: stop.signal,
      log: silentLog,
      clock: systemClock,
      onEvent: (event) => {
        events.push(event);
        if (enough(events)) stop.abort();
      },
    });
  } finally {
    clearTimeout(timeout);
  }
  if (!enough(events)) throw new Error(`only ${events.length} events came within ${timeoutMs} ms`);
  return events;
}

/** Waits for a condition that no event announces, which is looked at again after a pause; fails after a minute. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs = 60_000,
  lookEveryMs = 50,
): Promise<void> {
  const giveUpAt = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > giveUpAt) throw new Error(`waited ${timeoutMs} ms for ${what}`);
    await systemClock.sleep(lookEveryMs);
  }
}

/** Runs a program to its end; its output and exit code. */
export function runProgram(
  command: string,
  args: readonly string[],
  options: { env?: NodeJS.ProcessEnv; cwd?: string; timeoutMs?: number } = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((resolveRun, reject) => {
    const child = spawn(command, [...args], {
      cwd: options.cwd ?? ROOT,
      env: options.env ?? process.env,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: options.timeoutMs ?? 60_000,
      killSignal: 'SIGKILL',
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
    });
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    child.once('error', reject);
    child.once('close', (code) => resolveRun({ code, stdout, stderr }));
  });
}
