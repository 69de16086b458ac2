import { type Families, kindOf, MEMBER_FAMILIES, PROCESS_FAMILIES } from '@hermes-fleet/service';
import { CONSOLE_FAMILIES } from '../../services/console/src/metric-families.ts';
import { TRADER_FAMILIES } from '../../services/trader/src/control/metric-families.ts';
import { tableOf } from './docs.ts';

const code = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ');

function table(families: Families): string {
  const rows = Object.entries(families).map(([name, family]) => {
    return [code([name]), kindOf(name, family), code(Object.keys(family.labels ?? {})), family.help];
  });
  return tableOf(['family', 'type', 'labels', 'meaning'], rows);
}

function kept(): string {
  const names = Object.entries<Families[string]>(MEMBER_FAMILIES).filter(([, { ledger }]) => ledger);
  return `These counters are sums of the ledger: ${code(names.map(([name]) => name))}.`;
}

const without = (families: Families, others: Families): Families =>
  Object.fromEntries(Object.entries(families).filter(([name]) => !(name in others)));

/** The parts of docs/metrics.md that come from the tables of families. */
export const metricsParts = (): Readonly<Record<string, string>> => ({
  'every member': table(MEMBER_FAMILIES),
  trader: table(TRADER_FAMILIES),
  console: table(without(CONSOLE_FAMILIES, PROCESS_FAMILIES)),
  'kept by the ledger': kept(),
});
