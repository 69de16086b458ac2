import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Families, kindOf, MEMBER_FAMILIES, PROCESS_FAMILIES } from '@hermes-fleet/service';
import { CONSOLE_FAMILIES } from '../../services/console/src/families.ts';
import { TRADER_FAMILIES } from '../../services/trader/src/control/families.ts';
import { tableOf, withParts } from './docs.ts';

/** Where the metrics are described. */
export const METRICS_DOC = resolve(import.meta.dirname, '../../docs/metrics.md');

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

/** The parts of the document that come from the tables of families, by the name in the comments around them. */
const PARTS: Readonly<Record<string, string>> = {
  'metrics, every member': table(MEMBER_FAMILIES),
  'metrics, trader': table(TRADER_FAMILIES),
  'metrics, console': table(without(CONSOLE_FAMILIES, PROCESS_FAMILIES)),
  'metrics, kept by the ledger': kept(),
};

/** The document with these parts as the code has them. Throws if it lacks the comments of a part. */
export const withMetrics = (text: string): string => withParts(text, PARTS);

/** Writes the document anew: node test/support/metrics-docs.ts */
if (import.meta.main) writeFileSync(METRICS_DOC, withMetrics(readFileSync(METRICS_DOC, 'utf8')));
