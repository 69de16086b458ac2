import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { dashboards } from '../../deploy/grafana/src/render.ts';
import {
  RULES,
  runPrometheus,
  withoutPrometheus,
} from '../../deploy/grafana/src/testing/prometheus-server.ts';
import { charts, filled, read, unfiltered } from '../../deploy/grafana/src/testing/read-dashboard.ts';
import { type Fleet, startFleet, until } from '../support/fleet.ts';
import { decide } from '../support/lone-trader.ts';
import { call, dispatch, message, runbook } from '../support/rpc.ts';

const DONE = 6;
const BLOCKED = 4;

/** Panels that have nothing to show in this fleet. */
const EMPTY: Readonly<Record<string, string>> = {
  fleet_spending_ceiling_tokens: 'the shipped profiles have no ceilings',
  fleet_task_reroutes_total: 'no worker refuses',
  'fleet:deploy:timestamp_seconds': 'no code changes',
};

/** The window of rates: longer than the test, so that it has all work. */
const WINDOW_S = 600;

const inWindow = (expr: string): string => filled(expr.replaceAll('$__rate_interval', `${WINDOW_S}s`));

/** What the ledgers of the fleet say, read while their owners run. */
function sumOfLedgers(
  fleet: Fleet,
  sql: string,
  profiles = fleet.plan.profiles.map(({ name }) => name),
): number {
  return profiles.reduce((sum, name) => {
    using db = new DatabaseSync(join(fleet.dir, 'state', name, 'ledger.db'), { readOnly: true });
    db.exec('PRAGMA busy_timeout = 5000');
    return sum + Number(db.prepare(sql).get()?.n ?? 0);
  }, 0);
}

test('every query of every panel answers over a live fleet, and what they show agrees with the ledgers', {
  skip: withoutPrometheus,
}, async (t) => {
  const fleet = await startFleet(t, { FLEET_REVISION: 'a1b2c3d' }, { console: true });
  const scraped = [...fleet.plan.members, fleet.plan.console];
  const seen = await runPrometheus(t, {
    intervalMs: 1_000,
    rules: RULES,
    targets: scraped.map(({ name, port }) => ({
      targets: [`127.0.0.1:${port}`],
      labels: { profile: name },
    })),
  });
  await until(
    async () => (await seen.value('count(up == 1)')) === scraped.length,
    'every member and the console to be scraped before the work begins',
  );
  const operator = fleet.target('switch');
  const send = (sent: Parameters<typeof dispatch>[0]) =>
    call(operator, 'SendMessage', message(dispatch({ routing: { target: 'auto' }, ...sent })));
  for (let sent = 0; sent < DONE; sent += 1)
    await send({ brief: runbook(`${sent}.txt`, 'x', `cat ${sent}.txt`, 'cat not-there.txt') });
  for (let sent = 0; sent < BLOCKED; sent += 1)
    await send({ brief: 'x', requirements: { required_mcp: ['nope'] } });
  const trader = fleet.target('trader');
  for (const action of ['pause', 'resume'])
    assert.equal((await decide(trader, { action })).status, 'applied');

  const ended = sumOfLedgers(fleet, 'SELECT count(*) AS n FROM endings');
  await until(async () => (await seen.value('sum(fleet_tasks_total)')) === ended, 'the ends to be scraped');

  await t.test('every query of a panel and every annotation has data', async () => {
    for (const name of Object.keys(dashboards)) {
      const asked = [
        ...charts(name).flatMap(({ title = '', targets = [] }) => targets.map(({ expr }) => [title, expr])),
        ...read(name).annotations.list.map(({ expr }) => ['an annotation', expr]),
      ];
      for (const [title = '', expr = ''] of asked) {
        const query = unfiltered(inWindow(expr));
        const isEmpty = Object.keys(EMPTY).some((family) => expr.includes(family));
        if (isEmpty) assert.deepEqual(await seen.query(query), [], `${name}, ${title} is not empty any more`);
        else
          await until(
            async () => (await seen.query(query)).length > 0,
            `data for ${name}, ${title}: ${query}`,
          );
      }
    }
  });

  await t.test('the headlines are those of the ledgers', async () => {
    const panel = async (board: string, title: string, at = 0): Promise<number> => {
      const expr = charts(board).find((each) => each.title === title)?.targets?.[at]?.expr;
      assert.ok(expr, title);
      const samples = await seen.query(unfiltered(inWindow(expr)));
      return samples.reduce((sum, { value }) => sum + Number(value[1]), 0);
    };
    /** A rate is extrapolated to the ends of its window, so only the order of magnitude is certain. */
    const near = (shown: number, wanted: number, what: string): void =>
      assert.ok(shown > wanted / 2 && shown < wanted * 2, `${what}: ${shown} is shown, ${wanted} is true`);

    const spent = sumOfLedgers(
      fleet,
      "SELECT sum(input_tokens + output_tokens) AS n FROM tokens WHERE kind = 'own'",
    );
    assert.ok(spent > 0);
    assert.equal(await seen.value('sum(fleet_tokens_spent_total)'), spent);
    near(await panel('fleet-overview', 'Tokens spent'), spent, 'tokens spent');
    const share = await panel('fleet-overview', 'Blocked share');
    assert.ok(Math.abs(share - BLOCKED / (DONE + BLOCKED)) < 0.05, `the blocked share is ${share}`);
    const increase = async (board: string, title: string): Promise<number> =>
      WINDOW_S * (await panel(board, title));
    near(await increase('tasks', 'Tasks ended'), ended, 'tasks ended');
    near(await increase('fleet-overview', 'Tokens spent by caller'), spent, 'tokens by caller');
    near(await increase('agent', 'Tokens by direction'), spent, 'tokens by direction');
    const events = sumOfLedgers(fleet, 'SELECT max(seq) AS n FROM events');
    near(await increase('operations', 'Events published'), events, 'events published');
    const consumed = (await seen.value('sum(fleet_console_events_total{topic="tasks"})')) ?? 0;
    near(consumed, events, 'events read by the console');
    const calls = sumOfLedgers(fleet, "SELECT count(*) AS n FROM tokens WHERE kind = 'own'");
    assert.equal(await seen.value('sum(fleet_model_call_duration_seconds_count)'), calls);
    near(await increase('agent', 'Model calls'), calls, 'model calls');
    assert.equal(await seen.value('count(fleet_build_info{revision="a1b2c3d"})'), scraped.length);
    assert.equal(await panel('fleet', 'Circuits'), 0);
    assert.equal(await panel('fleet-overview', 'Alerts firing'), 0);
  });
});
