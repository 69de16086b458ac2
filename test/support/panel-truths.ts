import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Fleet } from './fleet.ts';

/** What a panel must show by the order of magnitude, as the stores of the fleet have it. */
export interface PanelTruth {
  /** `total`: the sum of its values; `rate`: the same by time, over the whole window; `rate5m`: over five minutes. */
  readonly shows: 'total' | 'rate' | 'rate5m';
  readonly wanted: number;
}

/** The panels whose figures no store has, with the reason. */
export const WITHOUT_TRUTH: Readonly<Record<string, readonly string[]>> = {
  'durations and ratios: the stores have the calls and the tasks, whose numbers are compared': [
    ...['agent/Model latency', 'agent/Time to the first token', 'agent/Estimates of input'],
    ...['agent/MCP operations', 'tasks/Task duration', 'tasks/Task turnaround', 'tasks/Dispatch overhead'],
    'operations/Duration of requests',
  ],
  'states of the moment, which are not stored': [
    ...['fleet-overview/Services', 'fleet/Time since the last announce', 'fleet/Models', 'fleet/MCP servers'],
    ...['operations/Dependencies', 'operations/Bus', 'operations/Code that runs'],
    ...['trader/Run state', 'trader/Risk mode', 'trader/Run state and risk mode', 'trader/Audit'],
    ...['operations/Events not read yet', 'operations/Certificates'],
    ...['trader/Position', 'trader/Equity', 'trader/Price'],
  ],
  'figures of an account that has hardly traded; services/trader/src/books compares them with its engine': [
    ...['trader/Drawdown', 'trader/Return', 'trader/Largest drawdown', 'trader/Sharpe', 'trader/Sortino'],
    ...['trader/Win rate', 'trader/Profit factor', 'trader/Profit by strategy', 'trader/Exposure'],
    ...['trader/Realized profit and fees', 'trader/Return and drawdown by strategy'],
  ],
  'retries and announces, which depend on the time and leave no record': ['tasks/Retries', 'fleet/Announces'],
  'of the process and of the machine': [
    ...['operations/Free disk', 'operations/Event loop delay', 'operations/Memory', 'operations/Processor'],
    ...['operations/Requests', 'operations/Sessions', 'operations/Messages read'],
  ],
};

const OWN_TOKENS = "SELECT sum(input_tokens + output_tokens) AS n FROM tokens WHERE kind = 'own'";
const CALLS = "SELECT count(*) AS n FROM tokens WHERE kind = 'own'";
/** Reduced orders are no outcome of an order. */
const ORDERS =
  "SELECT count(*) AS n FROM books WHERE json_extract(entry, '$.kind') = 'order' AND json_extract(entry, '$.event') <> 'reduced'";
const ENDED_CALLS = "FROM events WHERE type = 'progress' AND json_extract(data, '$.phase') = 'ended'";

/** What a store says while its owner runs. */
function ask(file: string, sql: string): number {
  using db = new DatabaseSync(file, { readOnly: true });
  db.exec('PRAGMA busy_timeout = 5000');
  return Number(db.prepare(sql).get()?.n ?? 0);
}

/** The sum over the ledgers of these profiles; default: of all. */
export function sumOfLedgers(
  fleet: Fleet,
  sql: string,
  names = fleet.plan.profiles.map(({ name }) => name),
): number {
  return names.reduce((sum, name) => sum + ask(join(fleet.dir, 'state', name, 'ledger.db'), sql), 0);
}

/** The truth of each panel that has one, by `<board>/<title>`, for a fleet that is idle after its tasks. */
export function panelTruths(fleet: Fleet): Readonly<Record<string, PanelTruth>> {
  const workers = fleet.plan.profiles.flatMap(({ name }) => (name === 'switch' ? [] : [name]));
  const total = (wanted: number): PanelTruth => ({ shows: 'total', wanted });
  const rate = (wanted: number): PanelTruth => ({ shows: 'rate', wanted });
  const sum = (sql: string, names?: readonly string[]): number =>
    sumOfLedgers(fleet, sql, names && [...names]);
  const ofTrader = (sql: string): number => ask(join(fleet.dir, 'state/trader/control.db'), sql);

  const spent = sum(OWN_TOKENS);
  const calls = sum(CALLS);
  const ended = sum('SELECT count(*) AS n FROM endings');
  const entered = sum('SELECT count(*) AS n FROM endings', ['switch']);
  const blocked = sum("SELECT count(*) AS n FROM events WHERE type = 'blocked'", ['switch']);
  const applied = "FROM decisions WHERE json_extract(response, '$.status') = 'applied'";
  return {
    'fleet-overview/Tokens spent': total(spent),
    'fleet-overview/Tokens spent, rate': { shows: 'rate5m', wanted: spent },
    'fleet-overview/Tokens spent by caller': rate(spent),
    // A profile shows its own tokens twice: by itself and by their caller.
    'fleet-overview/Spending of the day': total(
      spent + sum('SELECT sum(input_tokens + output_tokens) AS n FROM tokens'),
    ),
    'fleet-overview/Tokens saved': total(
      sum("SELECT sum(json_extract(data, '$.saved_tokens')) AS n FROM events WHERE type = 'blocked'", [
        'switch',
      ]),
    ),
    'fleet-overview/Blocked share': total(blocked / entered),
    'fleet-overview/Blocked share by reason': total(blocked / entered),
    'fleet-overview/Blocked share against the objective': total(blocked / entered),
    'fleet-overview/Admissions': rate(entered),
    'fleet-overview/Tasks running': total(0),
    'fleet-overview/Alerts firing': total(0),
    'tasks/Tasks ended': rate(ended),
    'tasks/Tasks running': total(0),
    'tasks/Tasks waiting': total(0),
    'tasks/Longest wait': total(0),
    'tasks/Refusals between peers': rate(0),
    'tasks/Tasks resumed': rate(0),
    'tasks/Budget overruns': rate(0),
    'agent/Model calls': rate(calls),
    'agent/Tokens by direction': rate(spent),
    'agent/Cached tokens': rate(sum('SELECT sum(cache_read_tokens + cache_write_tokens) AS n FROM tokens')),
    'agent/Tool calls': rate(sum(`SELECT count(*) AS n ${ENDED_CALLS}`, workers)),
    'agent/Tool calls that failed': rate(
      sum(`SELECT count(*) AS n ${ENDED_CALLS} AND json_extract(data, '$.ok') = 0`, workers),
    ),
    'agent/Guard interventions': rate(
      sum("SELECT count(*) AS n FROM events WHERE json_extract(data, '$.guard') IS NOT NULL", workers),
    ),
    'agent/Compactions': rate(0),
    'fleet/Circuits': total(0),
    'fleet/Tasks waiting': total(0),
    'fleet/Reroutes': rate(0),
    'operations/Events waiting for the bus': total(0),
    'operations/Age of the oldest waiting event': total(0),
    'operations/Push notifications': rate(0),
    // The bus gets no texts of a stream.
    'operations/Events published': rate(sum("SELECT count(*) AS n FROM events WHERE type <> 'text'")),
    'operations/Ledger': total(
      [...workers, 'switch', 'trader'].reduce((bytes, name) => bytes + ledgerBytes(fleet, name), 0),
    ),
    'trader/Audit records': total(ofTrader('SELECT count(*) AS n FROM audit')),
    'trader/Audit records, rate': rate(ofTrader('SELECT count(*) AS n FROM audit')),
    'trader/Decisions applied': total(ofTrader(`SELECT count(*) AS n ${applied}`)),
    'trader/Decisions': rate(ofTrader('SELECT count(*) AS n FROM decisions')),
    'trader/Rejections': rate(0),
    'trader/Orders': rate(ofTrader(ORDERS)),
    'trader/Orders, total': total(ofTrader(ORDERS)),
    'trader/Execution': total(0),
    'trader/Circuit breakers': total(0),
    'trader/Circuit breaker': total(0),
    'trader/Events waiting for the bus': total(0),
  };
}

function ledgerBytes(fleet: Fleet, name: string): number {
  const file = join(fleet.dir, 'state', name, 'ledger.db');
  return statSync(file).size + statSync(`${file}-wal`).size;
}
