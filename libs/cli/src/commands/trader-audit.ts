import { FleetError, isJsonObject, type JsonObject, parseJson } from '@hermes-fleet/protocol';
import { objectAt, objectsAt, textAt } from '../client/fields.ts';
import { type Command, command } from '../command-line/command.ts';
import { noArguments, UsageError, wholeNumber } from '../command-line/options.ts';
import { columns, printLines } from '../command-line/output.ts';
import { findEntryPoint, plannedFleet } from '../command-line/running-fleet.ts';
import { seenHeads } from '../console/client.ts';
import { TRADER } from '../keys/layout.ts';
import { type EntryPoint, runEntryPoint } from '../local/entry-point.ts';
import {
  AUDIT_LIMIT,
  MAX_AUDIT_LIMIT,
  traderAuditShowUsage,
  traderAuditVerifyUsage,
} from '../usage/trader.ts';
import { consoleOf } from './console.ts';

/** Long enough to verify millions of records. */
const VERIFY_MS = 10 * 60_000;

/**
 * `fleet trader audit verify`: verifies the audit in the trader's file, whether the trader runs or not. Exit code 1 for a
 * broken audit, with the first broken record. `--as-is` uses this process's environment, as inside the trader's container.
 */
const verifyCommand = command(traderAuditVerifyUsage, async ({ values, positionals, env, stdout, print }) => {
  noArguments('trader audit verify', positionals);
  // Before the file is read: it has every head that was published before.
  const witness = values['as-is'] ? (values.witness ?? '') : await askWitness(values);
  const report = await verifyAudit(findEntryPoint(values, TRADER, env), witness);
  if (print) print(report);
  else printLines(stdout, renderVerified(report));
  return report.ok === true ? 0 : 1;
});

/** `fleet trader audit show`: prints records of the audit from the trader's file; with JSON, one document per record. */
const showCommand = command(traderAuditShowUsage, async ({ values, positionals, env, stdout, print }) => {
  noArguments('trader audit show', positionals);
  const after = wholeNumber('after', values.after, 0);
  const limit = wholeNumber('limit', values.limit, AUDIT_LIMIT);
  if (limit < 1 || limit > MAX_AUDIT_LIMIT)
    throw new UsageError(`--limit must be from 1 to ${MAX_AUDIT_LIMIT}`);
  const records = await readAudit(findEntryPoint(values, TRADER, env), { after, limit });
  if (print) for (const record of records) print(record);
  else printLines(stdout, renderRecords(records));
  const last = records.at(-1);
  if (!print && records.length === limit && typeof last?.seq === 'number')
    printLines(stdout, ['', `for the records after these: --after ${last.seq}`]);
  return 0;
});

export const auditCommands: readonly Command[] = [verifyCommand, showCommand];

/**
 * Runs the trader's entry point to verify the audit, with what the console has seen of it. Throws CONFIG_INVALID with the process's error output when there is
 * no report.
 */
export async function verifyAudit(trader: EntryPoint, witness: string): Promise<JsonObject> {
  const [report] = await readLines(trader, ['--verify-audit', '--witness', witness]);
  if (report && typeof report.ok === 'boolean') return report;
  throw new FleetError('CONFIG_INVALID', 'the audit could not be verified: the trader reported nothing');
}

/** Returns the heads that the console has seen, or the reason why it was not asked, as JSON. */
async function askWitness(values: Parameters<typeof plannedFleet>[0]): Promise<string> {
  try {
    return JSON.stringify(await seenHeads(consoleOf(plannedFleet(values))));
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return JSON.stringify({ problem: error.message });
  }
}

/** At most `limit` records that follow the record number `after`, oldest first. Throws like `verifyAudit`. */
export function readAudit(
  trader: EntryPoint,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<JsonObject[]> {
  return readLines(trader, ['--show-audit', '--after', String(after), '--limit', String(limit)]);
}

/** Reads one JSON object per line. A non-zero exit code alone is not an error: a broken audit has one too. */
async function readLines(trader: EntryPoint, args: readonly string[]): Promise<JsonObject[]> {
  const { code, stdout, stderr } = await runEntryPoint(trader, args, VERIFY_MS);
  const lines = stdout.split('\n').filter((line) => line !== '');
  const found = lines.flatMap(parse);
  if (found.length === lines.length && (code === 0 || found.length > 0)) return found;
  const reason = stderr.trim() || `it ended with ${code === null ? 'a signal' : `exit code ${code}`}`;
  throw new FleetError('CONFIG_INVALID', `the audit could not be read: ${reason}`);
}

function parse(line: string): JsonObject[] {
  const value = parseJson(line);
  return isJsonObject(value) ? [value] : [];
}

export function renderVerified(report: JsonObject): string[] {
  const [head, broken, published] = [
    objectAt(report, 'head'),
    objectAt(report, 'broken'),
    objectAt(report, 'published'),
  ];
  const bus =
    published.state === 'asked'
      ? published.seq === null
        ? 'NATS holds no published head yet'
        : `NATS holds the head of record ${textAt(published, 'seq')}`
      : `NATS was not asked for the published head, so a truncated tail may go undetected: ${textAt(published, 'reason')}`;
  return [
    report.ok === true
      ? `the audit is intact: ${textAt(report, 'records')} records`
      : `the audit is BROKEN at record ${textAt(broken, 'seq')}: ${textAt(broken, 'reason')}`,
    `  file       ${textAt(report, 'file')}`,
    `  newest     record ${textAt(head, 'seq')}, ${textAt(head, 'hash')}`,
    `  published  ${bus}`,
    `  witness    ${witnessOf(objectAt(report, 'witness'))}`,
    ...objectsAt(report, 'accepted').map(
      (each) =>
        `  accepted   in record ${textAt(each, 'seq')} by ${textAt(each, 'caller')}: ${textAt(each, 'reason')}`,
    ),
  ];
}

function witnessOf(witness: JsonObject): string {
  if (witness.state !== 'asked') return `the console was not asked: ${textAt(witness, 'reason')}`;
  const heads = objectsAt(witness, 'heads').map((head) => {
    const accepted = head.verdict === 'accepted' ? `, accepted in record ${textAt(head, 'accepted_in')}` : '';
    return `record ${textAt(head, 'seq')}${head.verdict === 'missing' ? ', which the audit does not have' : accepted}`;
  });
  return heads.length === 0 ? 'the console has seen no head yet' : `the console has seen ${heads.join('; ')}`;
}

export function renderRecords(records: readonly JsonObject[]): string[] {
  if (records.length === 0) return ['no records'];
  const rows = records.map((each) => {
    const record = objectAt(each, 'record');
    return [textAt(each, 'seq'), textAt(record, 'at'), textAt(record, 'kind'), ...detailsOf(record)];
  });
  return columns(['record', 'at', 'kind', 'who', 'what', 'outcome'], rows);
}

/** The columns who, what and outcome of a record. */
function detailsOf(record: JsonObject): string[] {
  const response = objectAt(record, 'response');
  switch (record.kind) {
    case 'attempt': {
      const codes = objectsAt(response, 'errors').map((error) => textAt(error, 'code'));
      const what = `${textAt(response, 'action')} ${textAt(response, 'concern_id')} ${textAt(response, 'decision_id')}`;
      const dry = response.dry_run === true ? ', a dry run' : '';
      const outcome = [textAt(record, 'status'), ...codes].join(' ');
      return [`${textAt(record, 'caller')} by ${textAt(record, 'door')}`, `${what}${dry}`, outcome];
    }
    case 'outcome':
      return ['-', `of record ${textAt(record, 'of')}`, textAt(record, 'outcome')];
    case 'status':
      return ['-', textAt(record, 'strategy_id'), `${textAt(record, 'status')}: ${textAt(record, 'reason')}`];
    case 'hold': {
      const change = objectAt(record, 'change');
      const to = `${textAt(change, 'run_state')}, ${textAt(change, 'risk_mode')}`;
      return ['-', textAt(change, 'concern_id'), `${to}: ${textAt(record, 'reason')}`];
    }
    case 'refusals': {
      const counts = Object.entries(objectAt(record, 'counts')).map(([code, count]) => `${count} ${code}`);
      return [textAt(record, 'caller'), `refused since ${textAt(record, 'from')}`, counts.join(', ')];
    }
    case 'accept': {
      const broken = textAt(objectAt(record, 'broken'), 'reason');
      return [textAt(record, 'caller'), broken, `accepted: ${textAt(record, 'reason')}`];
    }
    case 'seed':
      return [
        '-',
        `${objectsAt(record, 'concerns').length} concerns, ${objectsAt(record, 'strategies').length} strategies`,
        '-',
      ];
    default:
      return ['-', 'a kind that this version does not know', '-'];
  }
}
