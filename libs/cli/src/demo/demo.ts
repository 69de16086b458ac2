import type { SessionAnnounce } from '@hermes-fleet/protocol';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import type { Caller, Named } from '../client/http.ts';
import { type Answer, rpc } from '../client/rpc.ts';
import { firstFlightRequest } from '../quick-start/first-flight.ts';
import { silentPeers } from '../quick-start/settled.ts';
import { decideOnce } from './decision-step.ts';
import { announceIn, look, poorRequest, textRequest } from './messages.ts';
import { type Flight, readBlocked, readDone, readHandedBack } from './steps.ts';

export interface DemoOptions {
  /** The profiles as this process reaches them; the one named `switch` takes the dispatches. */
  readonly profiles: readonly Named[];
  /** The trader as this process reaches it; without it nothing is decided. */
  readonly trader: Named | undefined;
  /** What to show people: the profiles as they reach them, Prometheus, Grafana. */
  readonly shown: readonly Named[];
  readonly token: string;
  /** Names the tasks of this demo: another one makes other tasks. */
  readonly id: string;
  readonly write: (line: string) => void;
}

/**
 * A first flight on a running fleet: real dispatches, and what came back, in lines for people (design 5, Commands).
 * Resolves with what was not as it should be. Throws PEER_UNREACHABLE when no fleet answers, and UNAUTHENTICATED.
 */
export async function runDemo(o: DemoOptions): Promise<readonly string[]> {
  const orchestrator = o.profiles.find(({ name }) => name === 'switch') ?? o.profiles[0];
  if (!orchestrator) throw new FleetError('CONFIG_INVALID', 'the demo knows no profile to talk to');
  const at = (profile: Named): Caller => ({ ...profile, token: o.token });
  await look(orchestrator, '/health');

  const problems: string[] = [];
  const check = async (work: () => Promise<readonly string[]>): Promise<void> => {
    const found = await work().catch((error: unknown) => [sentence(error)]);
    for (const problem of found) o.write(`  NOT AS EXPECTED: ${problem}`);
    problems.push(...found);
  };

  o.write('The fleet, as each profile announces itself');
  for (const profile of o.profiles) {
    await check(async () => {
      const hello = textRequest(`${o.id}:hello`, 'hello', `handshake:hermes-${profile.name}`);
      o.write(peerLine(profile.name, announceIn(await rpc(at(profile), JSON.stringify(hello)))));
      return [];
    });
  }
  await check(async () => {
    const silent = silentPeers(await look(orchestrator, '/metrics')) ?? [];
    if (silent.length > 0) return [`${orchestrator.name} has not heard of ${silent.join(', ')} yet`];
    o.write(`  ${orchestrator.name} has heard from all of its peers`);
    return [];
  });

  const before = await counters(o.profiles).catch(() => undefined);
  let spent = 0;
  const fly = (title: string, request: JsonObject, read: (answer: Answer) => Flight): Promise<void> => {
    o.write(`\n${title}`);
    return check(async () => {
      const flight = read(await rpc(at(orchestrator), JSON.stringify(request)));
      for (const line of flight.lines) o.write(line);
      spent += flight.tokens;
      return flight.problems;
    });
  };
  await fly(
    `Routed: ${orchestrator.name} picks a worker, which writes a file and checks it`,
    firstFlightRequest({ id: `${o.id}-routed` }),
    (answer) => readDone(answer, 'hello.txt'),
  );
  await fly(
    'Blocked: the task requires an MCP server that no peer has',
    firstFlightRequest({ id: `${o.id}-blocked`, requiredMcp: ['nope'] }),
    readBlocked,
  );
  await fly(
    `Passed on: every worker refuses a budget of one token, and ${orchestrator.name} asks the next one`,
    poorRequest(`${o.id}-poor`),
    readHandedBack,
  );
  await fly('Plain text: a message without a contract', textRequest(`${o.id}-text`), (answer) =>
    readDone(answer, 'note.txt'),
  );

  const { trader } = o;
  if (trader) {
    o.write(
      '\nDecided: the trader switches to another strategy and back; a duplicate decision changes nothing',
    );
    await check(() => decideOnce({ trader: at(trader), id: o.id, write: o.write }));
  }

  o.write('\nMetrics, summed over all profiles');
  await check(async () => {
    if (!before) return ['the metrics could not be read before the dispatches'];
    const after = await counters(o.profiles);
    const tokens = after.tokens - before.tokens;
    o.write(`  fleet_tokens_spent_total                          +${tokens}  (the results above: ${spent})`);
    o.write(`  fleet_task_admissions_total{decision="blocked"}   +${after.blocked - before.blocked}`);
    return tokens >= spent ? [] : ['the metrics count fewer tokens than the results'];
  });

  o.write('');
  for (const line of whereToSee(o)) o.write(line);
  return problems;
}

async function counters(profiles: readonly Named[]): Promise<Counters> {
  const texts = await Promise.all(profiles.map((profile) => look(profile, '/metrics')));
  return addCounters(texts.map(readCounters));
}

function whereToSee({ shown, trader }: Pick<DemoOptions, 'shown' | 'trader'>): string[] {
  const url = (wanted: string): string | undefined => shown.find(({ name }) => name === wanted)?.url;
  const [prometheus, grafana] = [url('prometheus'), url('grafana')];
  const metrics = shown.filter(({ name }) => !['prometheus', 'grafana', 'nats'].includes(name));
  const queries = [
    'fleet_tokens_spent_total',
    'fleet_task_admissions_total{decision="blocked"}',
    ...(trader ? ['fleet_trader_decisions_total'] : []),
  ];
  return [
    'Where to see more',
    ...metrics.slice(0, 1).map(({ url: base }) => `  metrics     curl -s ${base}/metrics | grep ^fleet_`),
    prometheus
      ? `  Prometheus  ${prometheus}  (ask for ${queries.join(', or ')})`
      : '  Prometheus  runs only with a fleet in containers',
    ...(prometheus ? [`  Grafana     ${grafana ?? 'does not run: make up says why'}`] : []),
    ...(trader ? ["  decisions   make trader ARGS='audit show'"] : []),
    '  logs        make logs',
  ];
}

function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The two headline counters of one profile, or of several together. */
interface Counters {
  readonly tokens: number;
  readonly blocked: number;
}

/** Reads them from the text of `/metrics`. */
function readCounters(text: string): Counters {
  return {
    tokens: sum(text, /^fleet_tokens_spent_total\{[^}]*\} (\S+)$/gm),
    blocked: sum(text, /^fleet_task_admissions_total\{[^}]*decision="blocked"[^}]*\} (\S+)$/gm),
  };
}

function addCounters(all: readonly Counters[]): Counters {
  return all.reduce(
    (total, { tokens, blocked }) => ({ tokens: total.tokens + tokens, blocked: total.blocked + blocked }),
    { tokens: 0, blocked: 0 },
  );
}

const sum = (text: string, pattern: RegExp): number =>
  [...text.matchAll(pattern)].reduce((total, [, value]) => total + Number(value), 0);

/** One line of the peers' view: what a profile says of itself. */
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
