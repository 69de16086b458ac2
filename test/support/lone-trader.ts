import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { parse, stringify } from 'yaml';
import { ROOT, until } from './fleet.ts';
import { freeOffset } from './ports.ts';
import { post, type RpcReply, type Target } from './rpc.ts';

/** The ids of the default configuration, which are those of the source document. */
export const ACCOUNT = 'qndd8o9ppop6';
export const MARKET = 'xrpusd';
export const CONCERN = `${ACCOUNT}:${MARKET}`;
export const GRID = '9cf29124-65a7-4950-ac18-65f938e0239b';
export const TREND = '0c555fee-e4c8-4543-ae70-c132517017e1';

// biome-ignore lint/suspicious/noExplicitAny: the tests change arbitrary keys of the configuration
type Section = Record<string, any>;

const CALLERS: Readonly<Record<string, readonly string[]>> = {
  operator: ['announce', 'dispatch', 'read', 'trader:read', 'trader:decide', 'trader:override'],
  decider: ['trader:decide'],
  reader: ['trader:read'],
  guest: ['announce', 'read'],
};

/** The trader as a process with its own home and the shipped configuration, without a broker unless one is given. */
export interface LoneTrader extends Target {
  readonly token: string;
  readonly stateDir: string;
  /** The same address as another caller sees it. */
  as(caller: keyof typeof CALLERS): Target;
  pid(): number;
  log(): string;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves with its exit code. */
  stop(): Promise<number | null>;
  /** Starts it again on the same home and port. */
  start(): Promise<void>;
}

export interface LoneTraderOptions {
  /** Changes the `trader` section of the shipped trader.yaml in place. */
  readonly change?: (trader: Section) => void;
  readonly env?: Record<string, string>;
  /** A broker that asks for no login; none by default. */
  readonly natsUrl?: string;
  /** Words before the program on the command line, e.g. a shell that sets limits. */
  readonly wrapper?: readonly string[];
}

/** Starts a trader; it ends with the test. */
export async function startTrader(t: TestContext, o: LoneTraderOptions = {}): Promise<LoneTrader> {
  let child: ChildProcess | undefined;
  const home = tempDir(t, { closeFirst: () => end('SIGTERM') });
  const dir = join(home, 'trader');
  const stateDir = join(home, 'state');
  mkdirSync(dir, { recursive: true });
  cpSync(join(ROOT, 'deploy/trader'), dir, { recursive: true });
  const port = 9219 + (await freeOffset());
  const tokens = new Map(Object.keys(CALLERS).map((name) => [name, `token-of-the-test-${name}-0123456789`]));
  edit(join(dir, 'fleet.yaml'), ({ fleet }) => {
    delete fleet.nats;
    if (o.natsUrl !== undefined) fleet.nats = { servers: [o.natsUrl] };
    fleet.agents = {};
    fleet.server = {
      bind_host: '127.0.0.1',
      bind_port: port,
      auth_required: true,
      callers: Object.fromEntries(
        Object.entries(CALLERS).map(([name, scopes]) => [name, { token_env: variable(name), scopes }]),
      ),
    };
  });
  edit(join(dir, 'trader.yaml'), ({ trader }) => {
    trader.callers = Object.fromEntries(Object.keys(CALLERS).map((name) => [name, { accounts: ['*'] }]));
    o.change?.(trader);
  });
  const url = `http://127.0.0.1:${port}`;
  let log = '';

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    const running = child;
    child = undefined;
    if (!running) return null;
    if (running.exitCode === null && running.signalCode === null) {
      const gone = new Promise((resolve) => running.once('exit', resolve));
      running.kill(signal);
      await gone;
    }
    return running.exitCode;
  }
  const start = async (): Promise<void> => {
    const program = [...(o.wrapper ?? []), process.execPath, join(ROOT, 'services/trader/src/main.ts')];
    const started = spawn(program[0] ?? '', program.slice(1), {
      cwd: ROOT,
      env: {
        ...process.env,
        HERMES_HOME: home,
        HERMES_STATE_DIR: stateDir,
        LOG_LEVEL: 'info',
        ...Object.fromEntries([...tokens].map(([name, token]) => [variable(name), token])),
        ...o.env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child = started;
    for (const stream of [started.stdout, started.stderr])
      stream?.on('data', (chunk) => {
        log += chunk;
      });
    await until(async () => {
      if (started.exitCode !== null) throw new Error(`the trader ended with ${started.exitCode}:\n${log}`);
      return (await fetch(`${url}/ready`).catch(() => undefined))?.status === 200;
    }, 'the trader to be ready');
  };
  await start();
  const as = (name: string): Target => ({ url, token: tokens.get(name) });
  return {
    url,
    token: tokens.get('operator') ?? '',
    stateDir,
    as,
    pid: () => child?.pid ?? -1,
    log: () => log,
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
    start,
  };
}

const variable = (name: string): string => `TEST_TOKEN_${name.toUpperCase()}`;

function edit(file: string, change: (content: Section) => void): void {
  const content: Section = parse(readFileSync(file, 'utf8'));
  change(content);
  writeFileSync(file, stringify(content));
}

/** A decision on the default concern; a pause unless told otherwise. */
export const decision = (fields: Record<string, unknown> = {}): Record<string, unknown> => ({
  decision_id: randomUUID(),
  concern_id: CONCERN,
  account_id: ACCOUNT,
  market_symbol: MARKET,
  action: 'pause',
  reason: 'a test',
  confidence: 0.8,
  ...fields,
});

/** Sends a payload unchanged, as the params of `apply_control_decision`. */
export const decideText = (to: Target, payload: string): Promise<RpcReply> =>
  post(to, `{"jsonrpc":"2.0","id":1,"method":"apply_control_decision","params":${payload}}`);

/** The response to a decision. */
// biome-ignore lint/suspicious/noExplicitAny: see RpcReply
export async function decide(to: Target, fields: Record<string, unknown> = {}): Promise<any> {
  const { body } = await decideText(to, JSON.stringify(decision(fields)));
  return body.result ?? body;
}

/** `get_strategy`. */
// biome-ignore lint/suspicious/noExplicitAny: see RpcReply
export async function strategyOf(to: Target, id: string): Promise<any> {
  const params = JSON.stringify({ strategy_id: id });
  const { body } = await post(to, `{"jsonrpc":"2.0","id":1,"method":"get_strategy","params":${params}}`);
  return body.result ?? body;
}
