import { commandOf, memberEnv } from '../local/plan.ts';
import { inherited } from '../local/up.ts';
import { readAudit, renderRecords, renderVerified, verifyAudit } from '../trader/audit.ts';
import { readOptions, UsageError, wholeNumber } from './options.ts';
import { plannedFleet, printJson, printLines } from './running-fleet.ts';

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
