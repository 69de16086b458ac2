import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
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
import type { CloudEvent } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { isShipped, type ShippedServer, writeRoot } from './fleet-root.ts';
import { freeOffset } from './ports.ts';
import type { Target } from './rpc.ts';

export const ROOT = resolve(import.meta.dirname, '../..');

export const WORKERS = ['neo', 'morpheus', 'trinity'] as const;
export const PROFILES = ['switch', ...WORKERS] as const;
export type MemberName = (typeof PROFILES)[number] | 'trader' | 'console';

/** A fleet with a real nats-server and real gateways, in a separate folder. */
export interface Fleet {
  readonly plan: FleetPlan;
  readonly dir: string;
  readonly operatorToken: string;
  /** The token that `from` shows to `to`. */
  tokenOf(from: string, to: string): Promise<string>;
  /** The profile as the operator sees it, or as whoever has this token. */
  target(profile: string, token?: string | undefined): Target;
  log(name: string): string;
  metrics(profile: string): Promise<string>;
  bus: BusConnection;
}

/** A fleet whose members are processes, which can end and start again. */
export interface ProcessFleet extends Fleet {
  process(name: string): RunningProcess;
  /** SIGKILL, as a crash of one process; resolves when it is gone. */
  kill(name: string): Promise<void>;
  /** Starts whatever does not run. */
  up(): Promise<void>;
  /** Sends SIGTERM and resolves with the exit, as the log tells it. */
  terminate(name: string): Promise<void>;
}

/** The differences of a test's fleet from the shipped one. */
export interface FleetOptions {
  /** Variables of every member. */
  readonly env?: Readonly<Record<string, string>>;
  /** The text of a profile's fleet.yaml, from the shipped one. */
  readonly fleetYaml?: (profile: string, shipped: string) => string;
  /** The text of a profile's config.yaml, from the shipped one. */
  readonly configYaml?: (profile: string, shipped: string) => string;
  /** The shipped MCP servers that each profile starts as processes. Default: none, since each costs as much as a command. */
  readonly mcpServers?: readonly ShippedServer[];
  /** Is called before the start. */
  readonly onPlanned?: (plan: FleetPlan) => void;
  /** Secrets beside the fleet's own: by profile, by variable. */
  readonly secrets?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/**
 * Starts NATS and these members on free ports in a new folder, and stops them when the test ends. The members know no
 * others. With `inProcess`, they run in the process of the test, which costs a third, and none of them can be killed.
 */
export function startFleet(
  t: TestContext,
  members: readonly MemberName[],
  options?: FleetOptions & { readonly inProcess?: false },
): Promise<ProcessFleet>;
export function startFleet(
  t: TestContext,
  members: readonly MemberName[],
  options: FleetOptions & { readonly inProcess: true },
): Promise<Fleet>;
export async function startFleet(
  t: TestContext,
  members: readonly MemberName[],
  options: FleetOptions & { readonly inProcess?: boolean } = {},
): Promise<Fleet | ProcessFleet> {
  let stop = async (): Promise<unknown> => undefined;
  const dir = tempDir(t, { closeFirst: () => stop() });
  const plan = await planned(dir, members, options);
  const env = { LOG_LEVEL: 'info', ...options.env };
  const withNats = { plan, clock: systemClock, log: silentLog, env: { ...process.env, ...env } };
  const down = () => fleetDown({ plan, clock: systemClock, graceMs: 10_000 });
  stop = down;
  if (options.inProcess) {
    const { startMembers } = await import('./fleet-in-process.ts');
    await succeed(
      fleetUp({ ...withNats, plan: { ...plan, profiles: [] }, withConsole: false, withTrader: false }),
    );
    const running = startMembers(plan, members, env);
    stop = () => running.stop().finally(down);
    await running.started;
    await untilSettled(plan);
    return fleetOf(plan);
  }
  const up = async (): Promise<void> => {
    const [withConsole, withTrader] = [members.includes('console'), members.includes('trader')];
    await succeed(fleetUp({ ...withNats, withConsole, withTrader }));
    await untilSettled(plan);
  };
  await up();
  return { ...fleetOf(plan), ...processesOf(plan), up };
}

/** Plans the fleet, and writes its profiles and secrets. */
async function planned(
  dir: string,
  members: readonly MemberName[],
  { fleetYaml, configYaml, mcpServers = [], onPlanned, secrets = {} }: FleetOptions,
): Promise<FleetPlan> {
  const options = { members, mcpServers, fleetYaml, configYaml };
  const root = isShipped(options) ? ROOT : writeRoot(ROOT, join(dir, 'root'), options);
  const all = planFleet({ root, dir, portOffset: await freeOffset() });
  const profiles = all.profiles.filter(({ name }) => members.some((member) => member === name));
  // Fleets of tests share one compile cache: filling one for each costs more than the fleet itself.
  const plan = { ...all, profiles, cacheDir: process.env.NODE_COMPILE_CACHE ?? all.cacheDir };
  onPlanned?.(plan);
  for (const [profile, own] of Object.entries(secrets)) {
    mkdirSync(join(plan.keysDir, profile), { recursive: true, mode: 0o700 });
    for (const [variable, value] of Object.entries(own))
      writeFileSync(keyPaths(plan.keysDir).variable(profile, variable), value, { mode: 0o400 });
  }
  return plan;
}

async function succeed(starting: Promise<readonly Outcome[]>): Promise<void> {
  const failed = (await starting).filter(({ state }) => state === 'failed');
  if (failed.length > 0) throw new Error(failed.map(describe).join('\n'));
}

async function untilSettled({ profiles }: FleetPlan): Promise<void> {
  const url = profiles[0]?.url ?? '';
  const silent = await waitUntilSettled(url, 30_000, systemClock);
  if (silent.length > 0) throw new Error(`${url} has not heard of ${silent.join(', ')}`);
}

function fleetOf(plan: FleetPlan): Fleet {
  const { dir } = plan;
  const paths = keyPaths(plan.keysDir);
  const operatorToken = readFileSync(paths.operatorToken, 'utf8').trim();
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

function processesOf({ runDir }: FleetPlan): Omit<ProcessFleet, keyof Fleet | 'up'> {
  const process_ = (name: string): RunningProcess => {
    const running = runningProcess(runDir, name);
    if (running === undefined) throw new Error(`${name} is not running`);
    return running;
  };
  const end = async (name: string, signal: NodeJS.Signals): Promise<void> => {
    const { pid } = process_(name);
    process.kill(pid, signal);
    await until(() => runningProcess(runDir, name) === undefined, `${name} to end after ${signal}`);
  };
  return {
    process: process_,
    kill: (name) => end(name, 'SIGKILL'),
    terminate: (name) => end(name, 'SIGTERM'),
  };
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
