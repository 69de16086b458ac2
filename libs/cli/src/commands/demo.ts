import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { FleetError } from '@hermes-fleet/protocol';
import { namedAddress, readOptions, UsageError } from '../command-line/options.ts';
import { plannedFleet } from '../command-line/running-fleet.ts';
import { runDemo } from '../demo/demo.ts';
import { readOperatorToken } from '../keys/init.ts';
import { TRADER } from '../keys/layout.ts';

/**
 * `fleet demo`: a first flight on the fleet that runs. `--address` says where people find things, `--reach` where this
 * process finds the profiles when that is elsewhere; without them it is the fleet of plain processes in `--dir`.
 */
export async function demoCommand(argv: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(argv, {
    address: { type: 'string', multiple: true },
    reach: { type: 'string', multiple: true },
    'token-stdin': { type: 'boolean' },
    dir: { type: 'string' },
    'port-offset': { type: 'string' },
  });
  if (positionals.length > 0) throw new UsageError(`demo takes no "${positionals.join(' ')}"`);
  const plan = plannedFleet(values);
  const given = (values.address ?? []).map((text) => namedAddress('address', text));
  const shown = given.length > 0 ? given : plan.members.map(({ name, url }) => ({ name, url }));
  const reach = (values.reach ?? []).map((text) => namedAddress('reach', text));
  const known = reach.length > 0 ? reach : shown;
  const profiles = known.filter(({ name }) => !OTHERS.has(name));
  const trader = known.find(({ name }) => name === TRADER);
  try {
    const token = values['token-stdin'] ? readFileSync(0, 'utf8').trim() : readOperatorToken(plan.keysDir);
    if (!token) throw new FleetError('PEER_UNREACHABLE', `there are no keys in ${plan.keysDir}`);
    const write = (line: string): void => console.log(line);
    const id = `demo-${randomUUID().slice(0, 8)}`;
    const problems = await runDemo({ profiles, trader, shown, token, id, write });
    if (problems.length === 0) return 0;
    console.error(
      `\n${problems.length === 1 ? 'a step' : `${problems.length} steps`} did not go as expected:`,
    );
    for (const problem of problems) console.error(`  ${problem}`);
    return 1;
  } catch (error) {
    if (!(error instanceof FleetError && error.code === 'PEER_UNREACHABLE')) throw error;
    console.error(`no fleet runs (${error.message}): make up first`);
    return 1;
  }
}

const OTHERS = new Set([TRADER, 'prometheus', 'grafana', 'nats']);
