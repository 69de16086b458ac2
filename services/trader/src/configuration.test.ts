import assert from 'node:assert/strict';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { readMemberEnvironment, traderDir } from '@hermes-fleet/gateway/member';
import { FleetError } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { createSecretEnv } from '@hermes-fleet/service';
import { type Configuration, readConfiguration } from './configuration.ts';

const DEPLOY = resolve(import.meta.dirname, '../../../deploy');
const SECRETS = Object.fromEntries(
  [
    ...['A2A_HERMES_TOKEN_OPERATOR', 'A2A_HERMES_TOKEN_SWITCH_TO_TRADER'],
    ...['A2A_HERMES_TOKEN_TRADER_TO_SWITCH', 'NATS_USER', 'NATS_PASSWORD'],
  ].map((name) => [name, `secret-of-the-test-${name}`]),
);

/** A home with a copy of the shipped files and these changes. */
function homeWith(t: TestContext, files: Readonly<Record<string, string | undefined>> = {}): string {
  const home = tempDir(t);
  cpSync(join(DEPLOY, 'trader'), traderDir(home), { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    const file = join(traderDir(home), name);
    if (content === undefined) rmSync(file);
    else writeFileSync(file, content);
  }
  return home;
}

const read = (home: string, env: NodeJS.ProcessEnv = SECRETS): Configuration =>
  readConfiguration(
    readMemberEnvironment('trader', traderDir, { HERMES_HOME: home }),
    createSecretEnv(env),
    systemClock,
    env,
  );

function problemsOf(home: string, env?: NodeJS.ProcessEnv): string[] {
  try {
    read(home, env);
  } catch (error) {
    assert.ok(error instanceof FleetError && error.code === 'CONFIG_INVALID');
    return error.fields.map(({ path, reason }) => `${path} ${reason}`);
  }
  return [];
}

const shipped = (name: string): string => readFileSync(join(DEPLOY, 'trader', name), 'utf8');

/** The shipped trader.yaml with these lines changed. */
function traderYaml(...changes: readonly (readonly [string, string])[]): string {
  return changes.reduce((text, [from, to]) => {
    assert.ok(text.includes(from), from);
    return text.replace(from, to);
  }, shipped('trader.yaml'));
}

test('the shipped configuration is valid and matches docs/trader.md', (t) => {
  const { trader, fleet, credentials, warnings, feeds } = read(homeWith(t));
  assert.deepEqual(warnings, []);
  assert.deepEqual(
    credentials.callers.map(({ name, scopes }) => [name, ...scopes]),
    [
      ['operator', 'announce', 'dispatch', 'read', 'trader:read', 'trader:decide', 'trader:override'],
      ['switch', 'announce', 'read', 'trader:read', 'trader:decide'],
    ],
  );
  assert.deepEqual(
    [fleet.fleet.role, fleet.fleet.tier, fleet.fleet.server?.bind_port],
    ['trader', undefined, 9223],
  );
  const { callers, concerns, strategies, policy, rate } = trader.trader;
  assert.deepEqual(callers, { operator: { accounts: ['*'] }, switch: { accounts: ['qndd8o9ppop6'] } });
  assert.deepEqual([...feeds.keys()], ['qndd8o9ppop6:xrpusd']);
  assert.equal(concerns[0]?.active_strategy_id, '9cf29124-65a7-4950-ac18-65f938e0239b');
  assert.deepEqual(
    strategies.map(({ id, kind, status }) => [id, kind, status]),
    [
      ['9cf29124-65a7-4950-ac18-65f938e0239b', 'grid_trader', 'enabled'],
      ['0c555fee-e4c8-4543-ae70-c132517017e1', 'trend_follower', 'enabled'],
      ['6f3b2a1e-8d47-4c59-9b0a-2e7d5c1f4a83', 'exposure_protector', 'enabled'],
    ],
  );
  assert.deepEqual(policy, {
    max_age_s: 300,
    future_slack_s: 60,
    min_confidence: 0,
    strict_degraded: false,
  });
  assert.deepEqual(rate, { per_second: 50, burst: 200, kept_for_pause: 20 });
});

test('all problems of all files are reported at once, each with its line', (t) => {
  const home = homeWith(t, {
    'IDENTITY.md': undefined,
    'fleet.yaml': shipped('fleet.yaml').replace('role: trader', 'rolle: trader'),
    'trader.yaml': traderYaml(
      ['max_age_s: 300', 'max_age_s: soon'],
      ['    switch: { accounts', '    swich: { accounts'],
      ['max_order: "1000"', 'max_order: 1000'],
      ['kind: trend_follower', 'kind: trend_folower'],
      ['levels: 5,', 'levels: 500, colour: red,'],
      ['order_share: "0.05"', 'order_share: "0.001"'],
    ),
  });
  const { NATS_USER: _none, ...fewer } = SECRETS;
  const problems = problemsOf(home, fewer).sort();
  const lines = (file: string, text: string) => {
    const content = readFileSync(join(traderDir(home), file), 'utf8');
    return 1 + content.split('\n').findIndex((line) => line.includes(text));
  };
  const patterns = [
    /^IDENTITY\.md cannot be read/,
    new RegExp(`^fleet\\.yaml:${lines('fleet.yaml', 'rolle')} fleet\\.rolle `),
    new RegExp(`^fleet\\.yaml:${lines('fleet.yaml', 'user_env')} fleet\\.nats\\.user_env NATS_USER`),
    new RegExp(`^trader\\.yaml:${lines('trader.yaml', 'max_age_s')} trader\\.policy\\.max_age_s `),
    new RegExp(`^trader\\.yaml:${lines('trader.yaml', 'swich')} trader\\.callers\\.swich is not a caller`),
    new RegExp(
      `^trader\\.yaml:${lines('trader.yaml', 'max_order')} trader\\.concerns\\[0\\]\\.limits\\.max_order `,
    ),
    new RegExp(`^trader\\.yaml:${lines('trader.yaml', 'folower')} trader\\.strategies\\[1\\].*kind`),
    new RegExp(
      `^trader\\.yaml:${lines('trader.yaml', 'levels:')} trader\\.strategies\\[0\\]\\.params\\.colour `,
    ),
    new RegExp(
      `^trader\\.yaml:${lines('trader.yaml', 'levels:')} trader\\.strategies\\[0\\]\\.params\\.levels `,
    ),
  ];
  for (const pattern of patterns)
    assert.ok(
      problems.some((problem) => pattern.test(problem)),
      `${pattern}\n${problems.join('\n')}`,
    );
  assert.equal(problems.length, patterns.length, problems.join('\n'));
});

const TREND = '0c555fee-e4c8-4543-ae70-c132517017e1';
const GRID = '9cf29124-65a7-4950-ac18-65f938e0239b';
const ACTIVE = `active_strategy_id: ${GRID}`;
const SECOND = `    - account_id: qndd8o9ppop6
      market_symbol: xrpusd
      balances: { quote: "1" }
      limits: { max_order: "1", max_position: "1", min_order: "1" }
      feed: { kind: synthetic, start_price: "1" }
  # Strategies that can be active.`;

/** Checks that span several keys or files. */
const CASES: readonly [what: string, changes: [string, string][], says: RegExp][] = [
  [
    'a strategy that is not there',
    [[ACTIVE, 'active_strategy_id: nobody']],
    /concerns\[0\]\.active_strategy_id there is no strategy nobody/,
  ],
  [
    'a strategy that is disabled',
    [[`kind: grid_trader`, `kind: grid_trader\n      status: disabled`]],
    /concerns\[0\]\.active_strategy_id strategy .* is disabled/,
  ],
  [
    'a strategy of another concern',
    [
      [
        `kind: grid_trader\n      account_id: qndd8o9ppop6`,
        `kind: grid_trader\n      account_id: qndd8o9ppop7`,
      ],
    ],
    /concerns\[0\]\.active_strategy_id strategy .* is of qndd8o9ppop7:xrpusd/,
  ],
  [
    'a strategy without a concern',
    [
      [
        `kind: trend_follower\n      account_id: qndd8o9ppop6`,
        `kind: trend_follower\n      account_id: other`,
      ],
    ],
    /strategies\[1\] is of other:xrpusd, which is not a concern/,
  ],
  ['a repeated id', [[`- id: ${TREND}`, `- id: ${GRID}`]], /strategies\[1\]\.id repeats the id of entry 1/],
  [
    'two concerns of one account and market',
    [['  # Strategies that can be active.', SECOND]],
    /concerns\[1\] repeats the concern qndd8o9ppop6:xrpusd of entry 1/,
  ],
  [
    'a caller that fleet.yaml does not know',
    [['operator: { accounts', 'nobody: { accounts']],
    /trader\.callers\.nobody is not a caller in fleet\.yaml/,
  ],
  [
    'an account without a concern',
    [['accounts: [qndd8o9ppop6]', 'accounts: [qndd8o9ppop9]']],
    /trader\.callers\.switch\.accounts\[0\] no concern belongs to the account qndd8o9ppop9/,
  ],
  [
    'a name with a colon',
    [['account_id: qndd8o9ppop6', 'account_id: "a:b"']],
    /concerns\[0\]\.account_id must be a name of letters/,
  ],
  [
    'a name that no subject may have',
    [['market_symbol: xrpusd', 'market_symbol: xrp.usd']],
    /concerns\[0\]\.market_symbol must be a name of letters/,
  ],
  [
    'capacity that leaves nothing',
    [['burst: 200', 'burst: 20']],
    /rate\.kept_for_pause must be below the burst of 20/,
  ],
  ['an unknown feed', [['kind: synthetic', 'kind: syntetic']], /concerns\[0\]\.feed/],
  ['an unknown key', [['strict_degraded', 'strict_degradet']], /policy\.strict_degradet/],
];

test('problems that span several keys are reported with the line of the key', async (t) => {
  for (const [what, changes, says] of CASES)
    await t.test(what, () => {
      const problems = problemsOf(homeWith(t, { 'trader.yaml': traderYaml(...changes) }));
      const found = problems.filter((problem) => says.test(problem));
      assert.equal(found.length, 1, problems.join('\n'));
      assert.match(found[0] ?? '', /^trader\.yaml:\d+ trader\./);
    });
});

test('no caller of fleet.yaml has the name of circuit breakers, with or without accounts', (t) => {
  const fleet = shipped('fleet.yaml').replace(
    '      switch:\n        token_env',
    '      breaker:\n        token_env',
  );
  const trader = traderYaml(['    switch: { accounts: [qndd8o9ppop6] }\n', '']);
  const home = homeWith(t, { 'fleet.yaml': fleet, 'trader.yaml': trader });
  const [problem, ...more] = problemsOf(home);
  assert.match(
    problem ?? '',
    /^fleet\.yaml:\d+ fleet\.server\.callers\.breaker is the name of circuit breakers/,
  );
  assert.deepEqual(more, []);
});

test('a CSV file of bars is read with the configuration, from the folder of trader.yaml', (t) => {
  const feed =
    '        kind: synthetic\n        seed: 20260416\n        start_price: "2.1"\n        volatility_bps: 20\n';
  const yaml = traderYaml([feed, '        kind: csv\n        file: bars.csv\n']);
  const missing = problemsOf(homeWith(t, { 'trader.yaml': yaml }));
  assert.match(missing.join(), /bars\.csv/);
  const head = 'time,open,high,low,close,volume\n';
  const wrong = homeWith(t, { 'trader.yaml': yaml, 'bars.csv': `${head}yesterday,1,1,1,1,1\n` });
  assert.match(problemsOf(wrong).join(), /^bars\.csv:2 time must be a time/);
  const right = homeWith(t, { 'trader.yaml': yaml, 'bars.csv': `${head}2026-04-16T20:15:00Z,1,1,1,1,1\n` });
  assert.deepEqual([...read(right).feeds.keys()], ['qndd8o9ppop6:xrpusd']);
});

test('a caller with trader scopes but no accounts causes only a warning', (t) => {
  const home = homeWith(t, {
    'trader.yaml': traderYaml(['    switch: { accounts: [qndd8o9ppop6] }\n', '']),
  });
  assert.match(read(home).warnings.join(), /trader\.callers: switch has trader scopes but no accounts/);
});
