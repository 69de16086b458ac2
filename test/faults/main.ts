import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readRecord } from '../support/runner/suite-record.ts';
import { findFaults } from './find-faults.ts';
import type { Tier } from './order.ts';
import { readFaults } from './read-faults.ts';

const HELP = `Usage: node test/faults/main.ts [options]

Plants each fault of test/faults/patches in a copy of this repository, and says which test finds it.

  --tier fast|all   the tests that look for it: those of make test, or all (default)
  --only NAME       this fault alone`;

const ROOT = resolve(import.meta.dirname, '../..');
/** How many faults go unfound at most: some show only in what the fast tests leave to whole fleets and sweeps. */
const MAY_MISS: Readonly<Record<Tier, number>> = { fast: 4, all: 0 };

const { values } = parseArgs({
  options: {
    tier: { type: 'string', default: 'all' },
    only: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const { tier, only } = values;
const all = readFaults(join(import.meta.dirname, 'patches'));
const faults = only === undefined ? all : all.filter(({ name }) => name === only);

if (values.help) console.log(HELP);
else if (tier !== 'fast' && tier !== 'all') fail(`--tier ${tier}: must be fast or all`);
else if (faults.length === 0)
  fail(`--only ${only}: no such fault; there are ${all.map((f) => f.name).join(', ')}`);
else await run(tier);

async function run(ofTier: Tier): Promise<void> {
  // The copy and the running test go with the process.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  try {
    const found = await findFaults({
      root: ROOT,
      faults,
      tier: ofTier,
      costs: readRecord(ROOT).files,
      print: console.log,
    });
    console.log(`found ${found} of ${faults.length}`);
    const mayMiss = only === undefined ? MAY_MISS[ofTier] : 0;
    process.exitCode = found < faults.length - mayMiss ? 1 : 0;
  } catch (error) {
    fail(error instanceof Error ? error.message : String(error));
  }
}

function fail(message: string): void {
  console.error(message);
  process.exitCode = 2;
}
