import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock as clock, FleetError, type Log } from '@hermes-fleet/protocol';
import { type Command, command, type Invocation, type OptionSpecs } from '../command-line/command.ts';
import { noArguments, UsageError, wholeNumber } from '../command-line/options.ts';
import { columns } from '../command-line/output.ts';
import { PLAN_OPTIONS, plannedFleet } from '../command-line/running-fleet.ts';
import { newLink } from '../console/client.ts';
import { CONSOLE } from '../keys/layout.ts';
import { fleetDown } from '../local/down.ts';
import type { FleetPlan } from '../local/plan.ts';
import { planPrometheus, prometheusDown, prometheusStatus, prometheusUp } from '../local/prometheus.ts';
import { fleetStatus } from '../local/ps.ts';
import { fleetUp } from '../local/up.ts';
import { quote } from '../quick-start/first-flight.ts';
import { renderWelcome } from '../quick-start/welcome.ts';
import { consoleOf } from './console.ts';
import { settle } from './first-flight.ts';

/** `fleet local up|down|ps|logs`: runs the fleet as plain processes on this machine. */
export const localCommands: readonly Command[] = [
  command({
    name: 'local up',
    summary: 'start the fleet as plain processes',
    options: PLAN_OPTIONS,
    examples: ['local up', 'local up --port-offset 1000'],
    run: ({ values, positionals, env, print }) => {
      noArguments('local up', positionals);
      return up(plannedFleet(values), env, print);
    },
  }),
  listed('local down', 'stop the fleet', async (plan) => {
    const seen = await prometheusDown(plan, clock);
    return [...(await fleetDown({ plan, clock })), ...(seen ? [seen] : [])];
  }),
  listed('local ps', 'list its processes', async (plan) => {
    const seen = await prometheusStatus(plan);
    return [...(await fleetStatus(plan)), ...(seen ? [seen] : [])].map(
      ({ name, state, pid = null, url, detail = null, logFile }) => ({
        name,
        state,
        pid,
        url,
        detail,
        log_file: logFile,
      }),
    );
  }),
  command({
    name: 'local logs',
    summary: 'print the logs of all processes, or of those that are named',
    args: '[name...]',
    textOnly: true,
    options: {
      ...PLAN_OPTIONS,
      follow: { type: 'boolean', short: 'f', help: 'go on with what is written from now on' },
      tail: { type: 'string', value: 'lines', help: 'how many lines of each; 100 by default' },
    },
    examples: ['local logs switch neo --follow'],
    run: ({ values, positionals }) =>
      logs(plannedFleet(values), positionals, values.follow === true, wholeNumber('tail', values.tail, 100)),
  }),
];

function listed(
  name: string,
  summary: string,
  rows: (plan: FleetPlan) => Promise<readonly object[]>,
): Command {
  return command({
    name,
    summary,
    options: PLAN_OPTIONS,
    examples: [name],
    run: async ({ values, positionals, print }) => {
      noArguments(name, positionals);
      return report(await rows(plannedFleet(values)), print);
    },
  });
}

type Print = Invocation<OptionSpecs>['print'];

async function up(plan: FleetPlan, env: NodeJS.ProcessEnv, print: Print): Promise<number> {
  const note = (_: object, message: string): void => console.error(`note: ${message}`);
  const log: Log = { info() {}, debug() {}, warn: note, error: note };
  const outcomes = await fleetUp({ plan, env, clock, log });
  const orchestrator = outcomes.find(({ name, state }) => name === 'switch' && state !== 'failed');
  if (orchestrator) await settle(orchestrator.url);
  const all = outcomes.filter(({ state }) => state === 'failed');
  const failed = all.filter(({ name }) => name !== CONSOLE);
  const seen = failed.length === 0 ? await prometheusUp({ plan, env, clock }) : undefined;
  if (print) {
    print([...outcomes, ...(seen ? [seen] : [])]);
    return failed.length > 0 ? 1 : 0;
  }
  for (const { name, state } of outcomes) console.log(`${name.padEnd(8)}  ${state}`);
  for (const { name, reason } of all) console.error(`\n${name} ${reason}`);
  if (failed.length > 0) {
    const names = failed.map(({ name }) => name).join(', ');
    console.error(`\n${names} failed; the other processes keep running: make down stops them`);
    return 1;
  }
  const addresses = [...plan.members, plan.console, plan.nats].filter(
    ({ name }) => !all.some((each) => each.name === name),
  );
  if (all.length > 0) console.error('\nthe fleet runs without the console, for the reason above');
  if (seen) console.log(`${seen.name.padEnd(8)}  ${seen.state}`);
  const isSeen = seen !== undefined && seen.state !== 'failed';
  if (seen && !isSeen) console.error(`\nthe fleet runs without Prometheus, which ${seen.reason}`);
  const isDefaultDir = join(plan.root, '.fleet') === plan.dir;
  const cli = join(import.meta.dirname, '../main.ts');
  const tokenCommand = [process.execPath, cli, 'token', '--dir', plan.keysDir].map(quote).join(' ');
  process.stdout.write(
    renderWelcome({
      addresses: [...addresses, ...(isSeen ? [planPrometheus(plan)] : [])],
      root: plan.root,
      ...(await linkTo(plan, all.length === 0)),
      ...(isDefaultDir ? {} : { tokenCommand }),
    }),
  );
  return 0;
}

/** A link to the console for the last lines; without one, says why. */
async function linkTo(plan: FleetPlan, runs: boolean): Promise<{ consoleLink?: string }> {
  if (!runs) return {};
  try {
    return { consoleLink: (await newLink(consoleOf(plan))).url };
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    console.error(`\nthere is no link to the console: ${error.message}`);
    return {};
  }
}

function report(rows: readonly object[], print: Print): number {
  if (print) print(rows);
  else console.log(columns(Object.keys(rows[0] ?? {}), rows.map(cells)).join('\n'));
  return 0;
}

const cells = (row: object): string[] => Object.values(row).map((value) => String(value ?? '-'));

/** Prints logs with `tail`, which follows files through growth and rotation. */
function logs(plan: FleetPlan, names: readonly string[], follow: boolean, lines: number): number {
  const all = [...plan.processes, planPrometheus(plan)];
  const unknown = names.filter((name) => !all.some((one) => one.name === name));
  if (unknown.length > 0) throw new UsageError(`no such process: ${unknown.join(', ')}`);
  const files = all
    .filter(({ name, logFile }) => (names.length === 0 || names.includes(name)) && existsSync(logFile))
    .map(({ logFile }) => logFile);
  if (files.length === 0) {
    console.error('there are no logs yet');
    return 1;
  }
  const tail = spawnSync('tail', ['-n', String(lines), ...(follow ? ['-F'] : []), ...files], {
    stdio: 'inherit',
  });
  return tail.status ?? (tail.signal === 'SIGINT' ? 0 : 1);
}
