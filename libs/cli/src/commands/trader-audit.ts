import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { objectAt, objectsAt, textAt } from '../client/fields.ts';

import { readOptions, UsageError, wholeNumber } from '../command-line/options.ts';
import { columns, printJson, printLines } from '../command-line/output.ts';
import { plannedFleet } from '../command-line/running-fleet.ts';
import { askEntryPoint, type Question } from '../local/entry-point.ts';
import { commandOf, memberEnv } from '../local/plan.ts';
import { inherited } from '../local/up.ts';

/** Long enough for millions of records. */
const VERIFY_MS = 10 * 60_000;

type Where = Pick<Question, 'command' | 'env' | 'cwd'>;

/**
 * Has the trader's entry point look at its audit, in a process of its own beside the trader or without one. Throws
 * CONFIG_INVALID, with what the process said, when it ends without an answer.
 */
export async function verifyAudit(where: Where): Promise<JsonObject> {
  const [report] = await ask(where, ['--verify-audit']);
  if (report && typeof report.ok === 'boolean') return report;
  throw new FleetError('CONFIG_INVALID', 'the audit could not be verified: the trader said nothing of it');
}

/** Records of the audit after a number, oldest first; at most `limit`. Throws like `verifyAudit`. */
export function readAudit(
  where: Where,
  o: { readonly after: number; readonly limit: number },
): Promise<JsonObject[]> {
  return ask(where, ['--show-audit', '--after', String(o.after), '--limit', String(o.limit)]);
}

/** One JSON object a line, whatever the exit code says. */
async function ask(where: Where, question: readonly string[]): Promise<JsonObject[]> {
  const { code, stdout, stderr } = await askEntryPoint({ ...where, question, timeoutMs: VERIFY_MS });
  const lines = stdout.split('\n').filter((line) => line !== '');
  const found = lines.flatMap(parse);
  if (found.length === lines.length && (code === 0 || found.length > 0)) return found;
  const said = stderr.trim() || `it ended with ${code === null ? 'a signal' : `exit code ${code}`}`;
  throw new FleetError('CONFIG_INVALID', `the audit could not be read: ${said}`);
}

function parse(line: string): JsonObject[] {
  try {
    const value: unknown = JSON.parse(line);
    return isJsonObject(value) ? [value] : [];
  } catch {
    // Cut off, or no record: the caller says what the process said instead.
    return [];
  }
}

/** The report of a verification for people. */
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
      : `NATS was not asked for the published head, so a tail that was cut off may go unseen: ${textAt(published, 'reason')}`;
  return [
    report.ok === true
      ? `the audit is as it was written: ${textAt(report, 'records')} records`
      : `the audit is BROKEN at record ${textAt(broken, 'seq')}: ${textAt(broken, 'reason')}`,
    `  file       ${textAt(report, 'file')}`,
    `  newest     record ${textAt(head, 'seq')}, ${textAt(head, 'hash')}`,
    `  published  ${bus}`,
  ];
}

/** Records of the audit for people, a line for each. */
export function renderRecords(records: readonly JsonObject[]): string[] {
  if (records.length === 0) return ['no records'];
  const rows = records.map((each) => {
    const record = objectAt(each, 'record');
    return [textAt(each, 'seq'), textAt(record, 'at'), textAt(record, 'kind'), ...wordsOf(record)];
  });
  return columns(['record', 'at', 'kind', 'who', 'what', 'became'], rows);
}

function wordsOf(record: JsonObject): string[] {
  const response = objectAt(record, 'response');
  switch (record.kind) {
    case 'attempt': {
      const codes = objectsAt(response, 'errors').map((error) => textAt(error, 'code'));
      const what = `${textAt(response, 'action')} ${textAt(response, 'concern_id')} ${textAt(response, 'decision_id')}`;
      const dry = response.dry_run === true ? ', a dry run' : '';
      const became = [textAt(record, 'status'), ...codes].join(' ');
      return [`${textAt(record, 'caller')} by ${textAt(record, 'door')}`, `${what}${dry}`, became];
    }
    case 'outcome':
      return ['-', `of record ${textAt(record, 'of')}`, textAt(record, 'outcome')];
    case 'status':
      return ['-', textAt(record, 'strategy_id'), `${textAt(record, 'status')}: ${textAt(record, 'reason')}`];
    default:
      return [
        '-',
        `${objectsAt(record, 'concerns').length} concerns, ${objectsAt(record, 'strategies').length} strategies`,
        '-',
      ];
  }
}

const LIMIT = 100;
const MAX_LIMIT = 1_000;

/**
 * `fleet trader audit verify|show`: read from the trader's file where that is, whether the trader runs or not.
 * `--as-is` takes the environment of this process, as inside its container; else it is the fleet of plain processes in
 * `--dir`. `verify` ends with 1 for an audit that is broken, and names the first record that is not as it was written.
 */
export async function auditCommand(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { values, positionals } = readOptions(argv, {
    'as-is': { type: 'boolean' },
    dir: { type: 'string' },
    'port-offset': { type: 'string' },
    json: { type: 'boolean' },
    after: { type: 'string' },
    limit: { type: 'string' },
  });
  const [verb = '', ...more] = positionals;
  if ((verb !== 'verify' && verb !== 'show') || more.length > 0)
    throw new UsageError(`no such command: trader audit ${positionals.join(' ')}`.trimEnd());
  if (verb === 'verify' && (values.after !== undefined || values.limit !== undefined))
    throw new UsageError('--after and --limit are for trader audit show');
  const after = wholeNumber('after', values.after, 0);
  const limit = wholeNumber('limit', values.limit, LIMIT);
  if (limit < 1 || limit > MAX_LIMIT) throw new UsageError(`--limit must be from 1 to ${MAX_LIMIT}`);

  const plan = plannedFleet(values);
  const where = {
    command: commandOf(plan.root, plan.trader.name),
    env: values['as-is'] ? env : { ...inherited(env), ...memberEnv(plan, plan.trader) },
    cwd: plan.root,
  };
  if (verb === 'verify') {
    const report = await verifyAudit(where);
    if (values.json) printJson(report);
    else printLines(renderVerified(report));
    return report.ok === true ? 0 : 1;
  }
  const records = await readAudit(where, { after, limit });
  if (values.json) for (const record of records) printJson(record);
  else printLines(renderRecords(records));
  const last = records.at(-1);
  if (!values.json && records.length === limit && typeof last?.seq === 'number')
    printLines(['', `for what comes after it: --after ${last.seq}`]);
  return 0;
}
