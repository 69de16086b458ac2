import type { Read } from '@hermes-fleet/net/api';
import { TRADER } from '@hermes-fleet/protocol/api';
import { fleetApi } from '../client/api.ts';
import { command } from '../command-line/command.ts';
import { UsageError } from '../command-line/option-values.ts';
import { traderAccountResetUsage, traderAuditAcceptUsage } from '../command-specs/trader.ts';
import { findTrader } from '../running/running-fleet.ts';

/**
 * `fleet trader audit accept`: shows what the running trader has found to be wrong with its audit, and accepts it when it is
 * named with `--finding` and `--reason`. Exit code 0 for an audit that is in order or accepted, 1 for one that is to be
 * accepted.
 */
const acceptCommand = command(traderAuditAcceptUsage, async ({ values, env, show }) => {
  const { finding, reason } = values;
  if ((finding === undefined) !== (reason === undefined))
    throw new UsageError('--finding and --reason go together: what is accepted, and why');
  const target = await findTrader(values, env);
  const found: Found =
    finding === undefined
      ? await fleetApi().call(target, TRADER.audit)
      : await fleetApi().call(target, TRADER.acceptAudit, { body: { finding, reason: reason ?? '' } });
  show(found, renderFinding);
  return found.finding === null ? 0 : 1;
});

/** `fleet trader account reset`: opens a paper account anew with the balances of trader.yaml. */
const resetCommand = command(traderAccountResetUsage, async ({ values, env, show }) => {
  const { concern: concern_id, reason } = values;
  if (concern_id === undefined || reason === undefined)
    throw new UsageError('trader account reset takes --concern and --reason');
  const target = await findTrader(values, env);
  const done = await fleetApi().call(target, TRADER.reset, { body: { concern_id, reason } });
  show(done, ({ before, after }) => [
    `the account of ${done.concern_id} is reset`,
    `  equity    ${before.equity} -> ${after.equity}`,
    `  position  ${before.position} -> ${after.position}`,
  ]);
});

export const commands = [acceptCommand, resetCommand];

type Found = Read<typeof TRADER.audit> & Partial<Read<typeof TRADER.acceptAudit>>;

function renderFinding({ state, detail, finding, accepted }: Found): string[] {
  const record = accepted ? [`accepted in record ${accepted.seq} of the audit`] : [];
  if (finding === null)
    return [
      ...record,
      state === 'ok'
        ? 'the audit is in order: there is nothing to accept'
        : `nothing is found so far: ${detail ?? '-'}`,
    ];
  const { id, reason, published } = finding;
  return [
    ...record,
    `the audit is BROKEN: ${reason}`,
    `  finding    ${id}`,
    ...(published === null ? [] : [`  published  record ${published.seq}, ${published.hash}`]),
    '',
    'Until it is accepted, no engine enters a position, and what raises risk is refused. Keep a copy of control.db first.',
    'What was decided in lost records can be decided again then. To accept the audit as it is:',
    `  fleet trader audit accept --finding ${id} --reason '...'`,
  ];
}
