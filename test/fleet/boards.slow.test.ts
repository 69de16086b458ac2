import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { dashboards } from '../../deploy/grafana/src/render.ts';
import { RULES, runPrometheus, withoutPrometheus } from '../../deploy/grafana/testing/prometheus-server.ts';
import { charts, filled, read, unfiltered } from '../../deploy/grafana/testing/read-dashboard.ts';
import { PROFILES, startFleet, until } from '../support/fleet.ts';
import { decide } from '../support/lone-trader.ts';
import { panelTruths, sumOfLedgers, WITHOUT_TRUTH } from '../support/panel-truths.ts';
import { call, dispatch, message, runbook } from '../support/rpc.ts';

const DONE = 6;
const BLOCKED = 6;

/** Panels that have nothing to show in this fleet. */
const EMPTY: Readonly<Record<string, string>> = {
  fleet_spending_ceiling_tokens: 'the shipped profiles have no ceilings',
  fleet_task_reroutes_total: 'no worker refuses',
  fleet_certificate_: 'no member has a certificate',
  'fleet:deploy:timestamp_seconds': 'no code changes',
};

/** What has data once the grid trades, which a slow machine reaches: after the ten bars that its center needs. */
const LATE = [
  ...['fleet_trader_win_rate', 'fleet_trader_profit_factor', 'fleet_trader_sharpe', 'fleet_trader_sortino'],
  ...['fleet_trader_orders_total'],
];

/** The window of rates: longer than the test, so that it has all work. */
const WINDOW_S = 600;

const inWindow = (expr: string): string => filled(expr.replaceAll('$__rate_interval', `${WINDOW_S}s`));

const LENGTH_S = { total: 1, rate: WINDOW_S, rate5m: 300 };

test('every query of every panel answers over a live fleet, and what they show agrees with the ledgers', {
  skip: withoutPrometheus,
}, async (t) => {
  const fleet = await startFleet(t, [...PROFILES, 'trader', 'console'], {
    env: { FLEET_REVISION: 'a1b2c3d' },
    mcpServers: ['filesystem', 'memory'],
  });
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
  const trader = fleet.target('trader');
  /** A third of the work. */
  const work = async (): Promise<void> => {
    for (let sent = 0; sent < DONE / 3; sent += 1)
      await send({ brief: runbook(`${sent}.txt`, 'x', `cat ${sent}.txt`, 'cat not-there.txt') });
    for (let sent = 0; sent < BLOCKED / 3; sent += 1)
      await send({ brief: 'x', requirements: { required_mcp: ['nope'] } });
    for (const action of ['pause', 'resume'])
      assert.equal((await decide(trader, { action })).status, 'applied');
  };
  await work();
  // A rate counts nothing of the first sample of a series, so the rest of the work comes after it.
  const begun = Date.now() / 1_000;
  await until(
    async () => (await seen.value(`count(timestamp(up) > ${begun} and up == 1)`)) === scraped.length,
    'every member and the console to be scraped after the first work',
  );
  await work();
  await work();

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
        if (LATE.some((family) => expr.includes(family))) await seen.query(query);
        else if (isEmpty)
          assert.deepEqual(await seen.query(query), [], `${name}, ${title} is not empty any more`);
        else
          await until(
            async () => (await seen.query(query)).length > 0,
            `data for ${name}, ${title}: ${query}`,
          );
      }
    }
  });

  await t.test('counters that are continued from the ledgers equal them', async () => {
    const truths = panelTruths(fleet);
    for (const [expr, wanted] of [
      ['sum(fleet_tokens_spent_total)', truths['fleet-overview/Tokens spent']?.wanted],
      ['sum(fleet_model_call_duration_seconds_count)', truths['agent/Model calls']?.wanted],
      ['sum(fleet_task_duration_seconds_count)', 2 * DONE],
      ['sum(fleet_console_events_total{topic="tasks"})', truths['operations/Events published']?.wanted],
      ['count(fleet_build_info{revision="a1b2c3d"})', scraped.length],
    ] as const)
      await until(async () => (await seen.value(expr)) === wanted, `${expr} to be ${wanted}`);
  });

  await t.test(
    'every panel shows what the ledgers have, or is listed with the reason why it cannot be compared',
    async () => {
      const truths = panelTruths(fleet);
      const panels = Object.keys(dashboards).flatMap((board) =>
        charts(board).map(({ title, targets = [] }) => ({ name: `${board}/${title}`, targets })),
      );
      assert.deepEqual(
        [...Object.keys(truths), ...Object.values(WITHOUT_TRUTH).flat()].sort(),
        [...new Set(panels.map(({ name }) => name))].sort(),
      );
      const differences = async (): Promise<string[]> => {
        const wrong: string[] = [];
        const now = panelTruths(fleet);
        for (const { name, targets } of panels) {
          const truth = now[name];
          if (truth === undefined) continue;
          let shown = 0;
          for (const { expr } of targets)
            for (const { value } of await seen.query(unfiltered(inWindow(expr))))
              shown += Number(value[1]) * LENGTH_S[truth.shows];
          if (!isNear(shown, truth.wanted)) wrong.push(`${name}: ${shown} is shown, ${truth.wanted} is true`);
        }
        return wrong;
      };
      // On a loaded machine a scrape can fail, and a panel then lacks a service until the next one.
      let wrong = await differences();
      for (let left = 20; wrong.length > 0 && left > 0; left -= 1) {
        await systemClock.sleep(1_000);
        wrong = await differences();
      }
      assert.deepEqual(wrong, []);
    },
  );
});

/** A rate is extrapolated to the ends of its window, so only the order of magnitude is certain. */
const isNear = (shown: number, wanted: number): boolean =>
  wanted === 0 ? shown === 0 : shown > wanted / 2 && shown < wanted * 2;
