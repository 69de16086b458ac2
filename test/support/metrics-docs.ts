import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Families, kindOf, MEMBER_FAMILIES, PROCESS_FAMILIES } from '@hermes-fleet/service';
import { CONSOLE_FAMILIES } from '../../services/console/src/families.ts';
import { TRADER_FAMILIES } from '../../services/trader/src/control/families.ts';

/** Where the metrics are described. */
export const METRICS_DOC = resolve(import.meta.dirname, '../../docs/metrics.md');

const code = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ');

function table(families: Families): string {
  const rows = Object.entries(families).map(([name, family]) => {
    const labels = code(Object.keys(family.labels ?? {}));
    return `| \`${name}\` | ${kindOf(name, family)} |${labels && ` ${labels}`} | ${family.help} |`;
  });
  return ['| family | type | labels | meaning |', '|---|---|---|---|', ...rows].join('\n');
}

function kept(): string {
  const names = Object.entries<Families[string]>(MEMBER_FAMILIES).filter(([, { ledger }]) => ledger);
  return `These counters are sums of the ledger: ${code(names.map(([name]) => name))}.`;
}

const without = (families: Families, others: Families): Families =>
  Object.fromEntries(Object.entries(families).filter(([name]) => !(name in others)));

/** The parts of the document that come from the tables of families, by the name in the comments around them. */
const PARTS: Readonly<Record<string, string>> = {
  'every member': table(MEMBER_FAMILIES),
  trader: table(TRADER_FAMILIES),
  console: table(without(CONSOLE_FAMILIES, PROCESS_FAMILIES)),
  'kept by the ledger': kept(),
};

/** The document with these parts as the code has them. Throws if it lacks the comments of a part. */
export function withMetrics(text: string): string {
  return Object.entries(PARTS).reduce((whole, [name, part]) => {
    const begin = `<!-- metrics, ${name}: begin -->\n`;
    const end = `\n<!-- metrics, ${name}: end -->`;
    const [from, to] = [whole.indexOf(begin), whole.indexOf(end)];
    if (from < 0 || to < from) throw new Error(`docs/metrics.md has no part "${name}"`);
    return whole.slice(0, from + begin.length) + part + whole.slice(to);
  }, text);
}

/** Writes the document anew: node test/support/metrics-docs.ts */
if (import.meta.main) writeFileSync(METRICS_DOC, withMetrics(readFileSync(METRICS_DOC, 'utf8')));
