import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { objectAt, textAt } from '../client/fields.ts';
import { callApi } from '../client/http.ts';
import { command } from '../command-line/command.ts';
import { noArguments, UsageError } from '../command-line/options.ts';
import { printLines } from '../command-line/output.ts';
import { findTrader, requireFleet } from '../command-line/running-fleet.ts';
import { traderAuditAcceptUsage } from '../usage/trader.ts';

/**
 * `fleet trader audit accept`: shows what the running trader has found to be wrong with its audit, and accepts it when it is
 * named with `--finding` and `--reason`. Exit code 0 for an audit that is in order or accepted, 1 for one that is to be
 * accepted.
 */
export const acceptCommand = command(
  traderAuditAcceptUsage,
  async ({ values, positionals, stdin, stdout, print }) => {
    noArguments('trader audit accept', positionals);
    const { finding, reason } = values;
    if ((finding === undefined) !== (reason === undefined))
      throw new UsageError('--finding and --reason go together: what is accepted, and why');
    return requireFleet(async () => {
      const { target } = await findTrader(values, stdin);
      const found =
        finding === undefined
          ? await callApi(target, '/audit')
          : await callApi(target, '/audit/accept', { finding, reason: reason ?? '' });
      if (print) print(found);
      else printLines(stdout, renderFinding(found));
      return isJsonObject(found.finding) ? 1 : 0;
    });
  },
);

export function renderFinding(document: JsonObject): string[] {
  const { finding, accepted } = document;
  const record = isJsonObject(accepted) ? [`accepted in record ${textAt(accepted, 'seq')} of the audit`] : [];
  if (!isJsonObject(finding))
    return [
      ...record,
      document.state === 'ok'
        ? 'the audit is in order: there is nothing to accept'
        : `nothing is found so far: ${textAt(document, 'detail')}`,
    ];
  const published = objectAt(finding, 'published');
  return [
    ...record,
    `the audit is BROKEN: ${textAt(finding, 'reason')}`,
    `  finding    ${textAt(finding, 'id')}`,
    ...(published.seq === undefined
      ? []
      : [`  published  record ${textAt(published, 'seq')}, ${textAt(published, 'hash')}`]),
    '',
    'Until it is accepted, no engine enters a position, and what raises risk is refused. Keep a copy of control.db first.',
    'What was decided in lost records can be decided again then. To accept the audit as it is:',
    `  fleet trader audit accept --finding ${textAt(finding, 'id')} --reason '...'`,
  ];
}
