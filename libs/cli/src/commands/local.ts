import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock as clock, type Log } from '@hermes-fleet/protocol';
import { type Command, command, type Invocation, type OptionSpecs } from '../command-line/command.ts';
import { noArguments, UsageError, wholeNumber } from '../command-line/options.ts';
import { PLAN_OPTIONS, plannedFleet } from '../command-line/running-fleet.ts';
import { fleetDown } from '../local/down.ts';
import type { FleetPlan } from '../local/plan.ts';
import { fleetStatus } from '../local/ps.ts';
import { fleetUp } from '../local/up.ts';
import { quote } from '../quick-start/first-flight.ts';
import { renderWelcome } from '../quick-start/welcome.ts';
import { newTaskId, settle } from './first-flight.ts';

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
  listed('local down', 'stop the fleet', (plan) => fleetDown({ plan, clock })),
  listed('local ps', 'list its processes', fleetStatus),
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
  const failed = outcomes.filter(({ state }) => state === 'failed');
  if (print) {
    print(outcomes);
    return failed.length > 0 ? 1 : 0;
  }
  for (const { name, state } of outcomes) console.log(`${name.padEnd(8)}  ${state}`);
  for (const { name, reason } of failed) console.error(`\n${name} ${reason}`);
  if (failed.length > 0) {
    const names = failed.map(({ name }) => name).join(', ');
    console.error(`\n${names} failed; the other processes keep running: make down stops them`);
    return 1;
  }
  const isDefaultDir = join(plan.root, '.fleet') === plan.dir;
  const cli = join(import.meta.dirname, '../main.ts');
  const tokenCommand = [process.execPath, cli, 'token', '--dir', plan.keysDir].map(quote).join(' ');
  process.stdout.write(
    renderWelcome({
      addresses: [...plan.members, plan.nats],
      root: plan.root,
      id: newTaskId(),
      ...(isDefaultDir ? {} : { tokenCommand }),
    }),
  );
  return 0;
}

function report(rows: readonly object[], print: Print): number {
  if (print) {
    print(rows);
    return 0;
  }
  for (const row of rows) {
    console.log(
      Object.values(row)
        .map((value) => String(value ?? '-').padEnd(12))
        .join('  ')
        .trimEnd(),
    );
  }
  return 0;
}

/** Prints logs with `tail`, which follows files through growth and rotation. */
function logs(plan: FleetPlan, names: readonly string[], follow: boolean, lines: number): number {
  const all = [plan.nats, ...plan.members];
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
