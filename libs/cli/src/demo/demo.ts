import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import type { SessionAnnounce } from '@hermes-fleet/protocol/handshake';
import { type Endpoint, fleetApi, type Target } from '../client/api.ts';
import { ownCommand } from '../command-line/own-command.ts';
import { firstFlight } from '../quick-start/first-flight.ts';
import { silentPeers } from '../quick-start/settled.ts';
import { switchAndBack } from './decision-step.ts';
import { announceIn, SEND_MESSAGE, textMessage } from './messages.ts';
import { type Answered, readBlocked, readDone, readRefusedByAll, type Step } from './steps.ts';

const SEND_MS = 120_000;

export interface DemoOptions {
  /** The profiles at the URLs that this process calls; `switch` takes the dispatches. */
  readonly profiles: readonly Endpoint[];
  /** The trader at the URL that this process calls; without one, the demo makes no decision. */
  readonly trader: Endpoint | undefined;
  /** The URLs to print: those that the user reaches. */
  readonly shown: readonly Endpoint[];
  readonly token: string;
  /** Prefix of the task and decision ids; must be new for every demo. */
  readonly id: string;
  readonly write: (line: string) => void;
}

/**
 * Sends real dispatches and decisions to a running fleet and prints what comes back. Resolves with what was not as
 * expected. Throws PEER_UNREACHABLE when the orchestrator does not answer.
 */
export async function runDemo(options: DemoOptions): Promise<readonly string[]> {
  const { profiles, trader, token, id, write } = options;
  const orchestrator = profiles.find(({ name }) => name === 'switch') ?? profiles[0];
  if (!orchestrator) throw new FleetError('CONFIG_INVALID', 'the demo knows no profile to talk to');
  const withToken = (endpoint: Endpoint): Target => ({ ...endpoint, token });
  await page(orchestrator, '/health');

  const problems: string[] = [];
  const check = async (work: () => Promise<readonly string[]>): Promise<void> => {
    const found = await work().catch((error: unknown) => [messageOf(error)]);
    for (const problem of found) write(`  NOT AS EXPECTED: ${problem}`);
    problems.push(...found);
  };

  write('The fleet, as each profile announces itself');
  for (const profile of profiles) {
    await check(async () => {
      const hello = textMessage(`${id}:hello`, 'hello', `handshake:hermes-${profile.name}`);
      const { result } = await send(withToken(profile), hello);
      write(peerLine(profile.name, announceIn(result)));
      return [];
    });
  }
  await check(async () => {
    const silent = silentPeers(await page(orchestrator, '/metrics')) ?? [];
    if (silent.length > 0) return [`${orchestrator.name} has not heard from ${silent.join(', ')} yet`];
    write(`  ${orchestrator.name} has heard from all of its peers`);
    return [];
  });

  const before = await readCounters(profiles).catch(() => undefined);
  let spent = 0;
  const dispatch = (title: string, message: JsonObject, read: (answer: Answered) => Step): Promise<void> => {
    write(`\n${title}`);
    return check(async () => {
      const step = read(await send(withToken(orchestrator), message));
      for (const line of step.lines) write(line);
      spent += step.tokens;
      return step.problems;
    });
  };
  await dispatch(
    `Routed: ${orchestrator.name} picks a worker, which writes a file and checks it`,
    firstFlight(`${id}-routed`),
    readDone('hello.txt'),
  );
  await dispatch(
    'Blocked: the task requires an MCP server that no peer has',
    firstFlight(`${id}-blocked`, { required_mcp: ['nope'] }),
    readBlocked,
  );
  await dispatch(
    `Passed on: every worker refuses a budget of one token, and ${orchestrator.name} asks the next one`,
    firstFlight(`${id}-poor`, { token_budget: 1 }),
    readRefusedByAll,
  );
  await dispatch('Plain text: a message without a contract', textMessage(`${id}-text`), readDone('note.txt'));

  write(
    trader
      ? '\nDecided: the trader switches to another strategy and back; a duplicate decision changes nothing'
      : '\nDecided: left out, because this fleet has no trader',
  );
  if (trader) await check(() => switchAndBack(withToken(trader), id, write));

  write('\nMetrics, summed over all profiles');
  await check(async () => {
    if (!before) return ['the metrics could not be read before the dispatches'];
    const after = await readCounters(profiles);
    const tokens = after.tokens - before.tokens;
    write(`  fleet_tokens_spent_total                          +${tokens}  (the results above: ${spent})`);
    write(`  fleet_task_admissions_total{decision="blocked"}   +${after.blocked - before.blocked}`);
    return tokens >= spent ? [] : ['the metrics count fewer tokens than the results'];
  });

  write('');
  for (const line of whereToSeeMore(options)) write(line);
  return problems;
}

async function send(target: Target, message: JsonObject): Promise<Answered> {
  const startedAt = performance.now();
  const result = await fleetApi().rpc(target, SEND_MESSAGE, message, { timeoutMs: SEND_MS });
  return { result, ms: performance.now() - startedAt };
}

/** The text of a page that needs no token, such as `/metrics`. */
const page = async (endpoint: Endpoint, path: string): Promise<string> =>
  (await fleetApi().text(endpoint, path)).text;

function peerLine(name: string, announce: SessionAnnounce): string {
  const { worker, session, mcpHealth, ready } = announce;
  const servers = Object.entries(mcpHealth).map(([server, state]) => `${server} ${state}`);
  return [
    `  ${name.padEnd(9)}`,
    (announce.role ?? 'agent').padEnd(13),
    worker.modelTier.padEnd(7),
    worker.model.padEnd(16),
    ready === false ? 'not ready' : 'ready    ',
    ` ${session.activeTasks} running`,
    `  MCP: ${servers.join(', ') || 'none'}`,
  ].join(' ');
}

/** Spent tokens and blocked tasks, summed over the metrics of these profiles. */
async function readCounters(profiles: readonly Endpoint[]): Promise<{ tokens: number; blocked: number }> {
  const pages = await Promise.all(profiles.map((profile) => page(profile, '/metrics')));
  const text = pages.join('\n');
  return {
    tokens: sum(text, /^fleet_tokens_spent_total\{[^}]*\} (\S+)$/gm),
    blocked: sum(text, /^fleet_task_admissions_total\{[^}]*decision="blocked"[^}]*\} (\S+)$/gm),
  };
}

const sum = (text: string, pattern: RegExp): number =>
  [...text.matchAll(pattern)].reduce((total, [, value]) => total + Number(value), 0);

function whereToSeeMore({ shown, trader }: DemoOptions): string[] {
  const urlOf = (wanted: string): string | undefined => shown.find(({ name }) => name === wanted)?.url;
  const [prometheus, grafana] = [urlOf('prometheus'), urlOf('grafana')];
  const [first] = shown.filter(({ name }) => !['prometheus', 'grafana', 'nats'].includes(name));
  const queries = [
    'fleet_tokens_spent_total',
    'fleet_task_admissions_total{decision="blocked"}',
    ...(trader ? ['fleet_trader_decisions_total'] : []),
  ];
  return [
    'Where to see more',
    ...(first ? [`  metrics     curl -s ${first.url}/metrics | grep ^fleet_`] : []),
    prometheus
      ? `  Prometheus  ${prometheus}  (ask for ${queries.join(', or ')})`
      : `  Prometheus  does not run: ${ownCommand('up')} starts it where it is installed`,
    ...(prometheus
      ? [
          `  Grafana     ${grafana ?? `does not run: ${ownCommand('up')} in containers says why; processes can use your own`}`,
        ]
      : []),
    `  console     ${ownCommand('console')}`,
    ...(trader ? [`  decisions   ${ownCommand('trader audit show')}`] : []),
    `  logs        ${ownCommand('logs')}`,
  ];
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
