import type { JsonObject } from '@hermes-fleet/protocol';
import { objectsAt, textAt } from '../ask/read.ts';
import { columns } from '../table.ts';

/** A report of checks for people: a line for each, and below those that failed what to do. */
export function renderReport(report: JsonObject): string[] {
  const findings = objectsAt(report, 'findings');
  const table = columns(
    ['about', 'check', 'state', 'found'],
    findings.map((each) => [
      textAt(each, 'subject'),
      textAt(each, 'check'),
      each.state === 'failed' ? 'FAILED' : textAt(each, 'state'),
      textAt(each, 'detail'),
    ]),
  );
  const failed = findings.filter(({ state }) => state === 'failed');
  const advice = findings
    .filter(({ fix }) => typeof fix === 'string')
    .map((each) => `  ${textAt(each, 'subject')}, ${textAt(each, 'check')}: ${textAt(each, 'fix')}`);
  return [
    ...table,
    '',
    ...(advice.length > 0 ? ['What to do:', ...advice, ''] : []),
    failed.length === 0 ? 'nothing failed' : `${failed.length} of ${findings.length} checks failed`,
  ];
}
