import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock as clock, type Log } from '@hermes-fleet/protocol';
import { readOptions, UsageError, wholeNumber } from '../command-line/options.ts';
import { printJson } from '../command-line/output.ts';
import { plannedFleet } from '../command-line/running-fleet.ts';
import { fleetDown } from '../local/down.ts';
import type { FleetPlan } from '../local/plan.ts';
import { fleetStatus } from '../local/ps.ts';
import { fleetUp } from '../local/up.ts';
import { quote } from '../quick-start/first-flight.ts';
import { renderWelcome } from '../quick-start/welcome.ts';
import { newTaskId, settle } from './first-flight.ts';

const OPTIONS = {
  dir: { type: 'string' },
  'port-offset': { type: 'string' },
  json: { type: 'boolean' },
  follow: { type: 'boolean', short: 'f' },
  tail: { type: 'string' },
} as const;

/** `fleet local up|down|ps|logs`: runs the fleet as plain processes on this machine. */
export async function localCommand(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { values, positionals } = readOptions(argv, OPTIONS);
  const [verb = '', ...names] = positionals;
  const plan = plannedFleet(values);
  if (verb !== 'logs' && names.length > 0)
    throw new UsageError(`local ${verb} takes no "${names.join(' ')}"`);
  const json = values.json === true;
  switch (verb) {
    case 'up':
      return up(plan, env, json);
    case 'down':
      return report(await fleetDown({ plan, clock }), json);
    case 'ps':
      return report(await fleetStatus(plan), json);
    case 'logs':
      return logs(plan, names, values.follow === true, wholeNumber('tail', values.tail, 100));
    default:
      throw new UsageError(`no such command: local ${verb}`);
  }
}

async function up(plan: FleetPlan, env: NodeJS.ProcessEnv, json: boolean): Promise<number> {
  const note = (_: object, message: string): void => console.error(`note: ${message}`);
  const log: Log = { info() {}, debug() {}, warn: note, error: note };
  const outcomes = await fleetUp({ plan, env, clock, log });
  const orchestrator = outcomes.find(({ name, state }) => name === 'switch' && state !== 'failed');
  if (orchestrator) await settle(orchestrator.url);
  const failed = outcomes.filter(({ state }) => state === 'failed');
  if (json) {
    printJson(outcomes);
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

function report(rows: readonly object[], json: boolean): number {
  if (json) {
    printJson(rows);
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
