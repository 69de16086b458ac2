import type { Writable } from 'node:stream';
import { FleetError } from '@hermes-fleet/protocol';
import { type Answer, AuditLine, AuditRecord, AuditReport } from '@hermes-fleet/protocol/api';
import { command, type Values } from '../command-line/command.ts';
import { wholeNumber } from '../command-line/option-values.ts';
import { type Cell, columns, printLines, shown } from '../command-line/output.ts';
import {
  AUDIT_LIMIT,
  MAX_AUDIT_LIMIT,
  traderAuditShowUsage,
  traderAuditVerifyUsage,
} from '../command-specs/trader.ts';
import { consoleOf, seenHeads } from '../console/client.ts';
import { askInside, wordsOf } from '../containers/inside.ts';
import { runOnFiles } from '../containers/read-volume.ts';
import { placeOf } from '../containers/state-place.ts';
import { currentFolder, type FleetFolder } from '../folder/fleet-folder.ts';
import { readMembers } from '../folder/members.ts';
import { CONSOLE, TRADER } from '../keys/layout.ts';
import { type EntryPoint, readReport, readReports } from '../local/entry-point.ts';
import { findEntryPoint, namesProcesses, plannedFleet } from '../running/running-fleet.ts';

/** Long enough to verify millions of records. */
const VERIFY_MS = 10 * 60_000;

/**
 * `fleet trader audit verify`: verifies the audit in the trader's file, whether the trader runs or not. Exit code 1 for a
 * broken audit, with the first broken record. `--as-is` uses this process's environment, as inside the trader's container.
 */
const verifyCommand = command(traderAuditVerifyUsage, async ({ values, env, stderr, show }) => {
  const containers = await auditInContainers(values, env, stderr);
  if (containers) {
    const witness = await witnessInContainers(containers, env);
    const words = ['trader', 'audit', 'verify', '--as-is', `--witness=${witness}`, ...wordsOf(values)];
    return (await runOnFiles(containers, env, TRADER, words)).code;
  }
  // Before the file is read: it has every head that was published before.
  const witness = values['as-is'] ? (values.witness ?? '') : await askWitness(values);
  const report = await verifyAudit(findEntryPoint(values, TRADER, env), witness);
  show(report, renderVerified);
  return report.ok ? 0 : 1;
});

/** `fleet trader audit show`: prints records of the audit from the trader's file; with JSON, one document per record. */
const showCommand = command(traderAuditShowUsage, async ({ values, env, stdout, stderr, print }) => {
  const after = wholeNumber('after', values.after, 0);
  const limit = wholeNumber('limit', values.limit, AUDIT_LIMIT, [1, MAX_AUDIT_LIMIT]);
  const containers = await auditInContainers(values, env, stderr);
  if (containers) {
    const words = ['trader', 'audit', 'show', '--as-is', ...wordsOf(values)];
    return (await runOnFiles(containers, env, TRADER, words)).code;
  }
  const records = await readAudit(findEntryPoint(values, TRADER, env), { after, limit });
  if (print) for (const record of records) print(record);
  else printLines(stdout, renderRecords(records));
  const last = records.at(-1);
  if (!print && records.length === limit && last)
    printLines(stdout, ['', `for the records after these: --after ${last.seq}`]);
  return 0;
});

export const commands = [verifyCommand, showCommand];

/** The folder of the fleet whose audit is in a volume. Says which file or volume is read. Throws as `placeOf`. */
async function auditInContainers(
  values: Values<typeof traderAuditShowUsage.options>,
  env: NodeJS.ProcessEnv,
  stderr: Writable,
): Promise<FleetFolder | undefined> {
  if (namesProcesses(values)) return undefined;
  const folder = currentFolder();
  if (readMembers(folder.home).trader === undefined)
    throw new FleetError('NOT_FOUND', `the fleet in ${folder.root} has no trader, so there is no audit`);
  const { mode, text } = await placeOf(folder, env, `state/${TRADER}`);
  printLines(stderr, [`the audit is read from ${text}`]);
  return mode === 'docker' ? folder : undefined;
}

/** As `askWitness`, of the console in its container. */
async function witnessInContainers(folder: FleetFolder, env: NodeJS.ProcessEnv): Promise<string> {
  const { code, stdout } = await askInside(folder, env, CONSOLE, ['console', 'heads', '--as-is', '--json']);
  return code === 0 ? stdout.trim() : JSON.stringify({ problem: 'the console does not answer' });
}

/** Runs the trader's entry point to verify the audit, with what the console has seen of it. Throws as `readReport`. */
export const verifyAudit = (trader: EntryPoint, witness: string): Promise<Answer<typeof AuditReport>> =>
  readReport(trader, ['--verify-audit', '--witness', witness], AuditReport, READ);

const READ = { otherwise: 'the audit could not be read', timeoutMs: VERIFY_MS };

/** Returns the heads that the console has seen, or the reason why it was not asked, as JSON. */
async function askWitness(values: Parameters<typeof plannedFleet>[0]): Promise<string> {
  try {
    return JSON.stringify(await seenHeads(consoleOf(plannedFleet(values))));
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return JSON.stringify({ problem: error.message });
  }
}

type Line = Answer<typeof AuditLine>;

/** At most `limit` records that follow the record number `after`, oldest first. Throws as `readReports`. */
export function readAudit(
  trader: EntryPoint,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<readonly Line[]> {
  const args = ['--show-audit', '--after', String(after), '--limit', String(limit)];
  return readReports(trader, args, AuditLine, READ);
}

export function renderVerified(report: Answer<typeof AuditReport>): string[] {
  const { ok, records, broken, file, head, published, witness, accepted } = report;
  const bus =
    published.state !== 'asked'
      ? `NATS was not asked for the published head, so a truncated tail may go undetected: ${published.reason}`
      : published.seq === null
        ? 'NATS holds no published head yet'
        : `NATS holds the head of record ${published.seq}`;
  return [
    ok
      ? `the audit is intact: ${records} records`
      : `the audit is BROKEN at record ${shown(broken?.seq)}: ${shown(broken?.reason)}`,
    `  file       ${file}`,
    `  newest     record ${head.seq}, ${head.hash}`,
    `  published  ${bus}`,
    `  witness    ${witnessOf(witness)}`,
    ...accepted.map(({ seq, caller, reason }) => `  accepted   in record ${seq} by ${caller}: ${reason}`),
  ];
}

function witnessOf(witness: Answer<typeof AuditReport>['witness']): string {
  if (witness.state !== 'asked') return `the console was not asked: ${witness.reason}`;
  const heads = witness.heads.map(({ seq, verdict, accepted_in }) => {
    const accepted = verdict === 'accepted' ? `, accepted in record ${shown(accepted_in)}` : '';
    return `record ${seq}${verdict === 'missing' ? ', which the audit does not have' : accepted}`;
  });
  return heads.length === 0 ? 'the console has seen no head yet' : `the console has seen ${heads.join('; ')}`;
}

export function renderRecords(records: readonly Line[]): string[] {
  if (records.length === 0) return ['no records'];
  const rows = records.map(({ seq, record }) => [seq, record.at, record.kind, ...detailsOf(record)]);
  return columns(['record', 'at', 'kind', 'who', 'what', 'outcome'], rows);
}

/** The columns who, what and outcome of a record. */
function detailsOf(line: Line['record']): Cell[] {
  const record = AuditRecord.safeParse(line).data;
  switch (record?.kind) {
    case 'attempt': {
      const { caller, door, status, response } = record;
      const { action, concern_id, decision_id, dry_run, errors } = response;
      const what = `${shown(action)} ${shown(concern_id)} ${shown(decision_id)}${dry_run ? ', a dry run' : ''}`;
      return [`${caller} by ${door}`, what, [status, ...errors.map(({ code }) => code)].join(' ')];
    }
    case 'outcome':
      return ['-', `of record ${record.of}`, record.outcome];
    case 'status':
      return ['-', record.strategy_id, `${record.status}: ${record.reason}`];
    case 'hold': {
      const { concern_id, run_state, risk_mode } = record.change;
      return ['-', concern_id, `${run_state}, ${risk_mode}: ${record.reason}`];
    }
    case 'refusals': {
      const counts = Object.entries(record.counts).map(([code, count]) => `${count} ${code}`);
      return [record.caller, `refused since ${record.from}`, counts.join(', ')];
    }
    case 'accept':
      return [record.caller, record.broken.reason, `accepted: ${record.reason}`];
    case 'seed':
      return ['-', `${record.concerns.length} concerns, ${record.strategies.length} strategies`, '-'];
    case undefined:
      return ['-', 'a kind that this version does not know', '-'];
  }
}
