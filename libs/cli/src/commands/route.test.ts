import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fleet, profileStub } from '../testing/profile-stub.ts';

const GOES = {
  chosen: 'neo',
  considered: [
    { peer: 'neo', verdict: 'chosen', score: 101, reasons: ['load 0.00', 'tier haiku 0 off the preferred'] },
    { peer: 'trinity', verdict: 'excluded', score: 0, reasons: ['lacks capability "browser"'] },
  ],
  unmet: [],
  waitable: false,
};
const STAYS = {
  chosen: null,
  considered: [],
  unmet: [{ kind: 'repo', name: 'neo', detail: 'neo: working tree is dirty', transient: true }],
  waitable: true,
};

const setUp = async (t: TestContext, body: object, status = 200) => {
  const stub = await profileStub(t, { '/fleet/route': { status, body } });
  const at = ['--dir', stub.dir, '--reach', `switch=${stub.url}`];
  return { ...stub, route: (...args: string[]) => fleet(['route', ...at, ...args]) };
};

test('route --explain prints the considered peers with verdict, score and reasons, and the chosen one', async (t) => {
  const { route, asked, token } = await setUp(t, GOES);
  const { code, stdout, stderr } = await route('--explain', '--mcp', 'memory,filesystem', '--mcp', 'x');
  assert.equal(code, 0, stderr);
  assert.equal(
    stdout,
    [
      'peer     verdict   score  reasons',
      'neo      chosen    101    load 0.00; tier haiku 0 off the preferred',
      'trinity  excluded  -      lacks capability "browser"',
      '',
      'goes to neo',
      '',
    ].join('\n'),
  );
  assert.equal(asked[0]?.token, token);
  assert.deepEqual(asked[0]?.body?.requirements, {
    required_mcp: ['memory', 'filesystem', 'x'],
    model_tier: {},
  });
  assert.equal((await route()).stdout, 'goes to neo\n');
});

test('route sends its options as a dispatch', async (t) => {
  const { route, asked } = await setUp(t, GOES);
  const options = {
    brief: 'look at it',
    capability: 'terminal',
    priority: 'high',
    budget: '4000',
    target: 'neo',
    'tier-min': 'haiku',
    'tier-max': 'opus',
    'tier-prefer': 'sonnet',
    'context-window': '9000',
    deadline: '2030-01-01T00:00:00Z',
    'task-id': 'abc',
  };
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  assert.equal((await route(...flags, '--read-only')).code, 0);
  assert.deepEqual(asked[0]?.body, {
    type: 'TASK_DISPATCH',
    protocol_version: '2.0',
    task: { task_id: 'abc', priority: 'high', token_budget: 4000, write: false },
    requirements: {
      required_capabilities: ['terminal'],
      model_tier: { min: 'haiku', max: 'opus', prefer: 'sonnet' },
      min_context_window: 9000,
    },
    deadline: '2030-01-01T00:00:00Z',
    brief: 'look at it',
    routing: { target: 'neo' },
  });
});

test('route ends with 3 when no peer can take the dispatch, and says what is unmet and whether waiting helps', async (t) => {
  const { route } = await setUp(t, STAYS);
  const words = await route('--explain');
  assert.equal(words.code, 3);
  assert.match(words.stdout, /^goes nowhere\n {2}repo: neo: working tree is dirty\nThis may pass: /);
  const json = await route('--json');
  assert.equal(json.code, 3);
  assert.deepEqual(JSON.parse(json.stdout), STAYS);
  const own = await setUp(t, { ...STAYS, waitable: false });
  assert.match(
    (await own.route()).stdout,
    /\nThis may pass, but the profile does not wait for it: dispatch it again/,
  );
  const never = await setUp(t, { ...STAYS, waitable: false, unmet: [{ kind: 'mcp', transient: false }] });
  assert.match((await never.route()).stdout, /\nWaiting would not help\.\n$/);
});

test('route takes a dispatch from a file, or from stdin after the token', async (t) => {
  const { route, asked, dir, url } = await setUp(t, GOES);
  const dispatch = { type: 'TASK_DISPATCH', task: { task_id: 'f', 'of a later version': 1 } };
  const file = join(dir, 'dispatch.json');
  writeFileSync(file, JSON.stringify(dispatch));
  assert.equal((await route('--file', file)).code, 0);
  assert.deepEqual(asked[0]?.body, dispatch, 'unchanged: the profile validates it');
  const args = ['route', '--file', '-', '--token-stdin', '--reach', `switch=${url}`];
  assert.equal((await fleet(args, `the-token\n${JSON.stringify(dispatch)}`)).code, 0);
  assert.deepEqual([asked[1]?.token, asked[1]?.body], ['the-token', dispatch]);
});

test('route prints every field error of the profile', async (t) => {
  const fields = [
    { path: 'task.priority', reason: 'wrong' },
    { path: 'brief', reason: 'missing' },
  ];
  const body = { error: { code: 'INVALID_PARAMS', message: 'TASK_DISPATCH is not valid', fields } };
  const { route } = await setUp(t, body, 400);
  const { code, stderr } = await route('--brief', 'x');
  assert.equal(code, 1);
  assert.match(
    stderr,
    /switch answered HTTP 400: TASK_DISPATCH is not valid\n {2}task\.priority: wrong\n {2}brief: missing/,
  );
});

test('an invalid route command line ends with 2, names every error and calls nobody', async (t) => {
  const { route, asked, dir } = await setUp(t, GOES);
  const wrong: [string[], RegExp][] = [
    [
      ['--priority', 'soon', '--budget=-1', '--deadline', 'today'],
      /--priority must .*\n {2}--budget must .*\n {2}--deadline must /,
    ],
    [['--budget', 'much'], /--budget must be a whole number/],
    [['--file', join(dir, 'x.json'), '--mcp', 'memory'], /--file holds the whole dispatch/],
    [['--profile', 'ghost'], /there is no profile ghost, only switch/],
    [['now'], /route takes no "now"/],
    [['--nope'], /--nope/],
  ];
  for (const [args, says] of wrong) {
    const { code, stderr } = await route(...args);
    assert.equal(code, 2, args.join(' '));
    assert.match(stderr, says);
  }
  assert.deepEqual(asked, []);
});

test('route ends with 1 without a fleet, for a rejected token and for a file without a dispatch', async (t) => {
  const { dir } = await setUp(t, GOES);
  const away = await fleet(['route', '--dir', dir, '--reach', 'switch=http://127.0.0.1:1']);
  assert.equal(away.code, 1);
  assert.match(away.stderr, /no fleet runs \(switch does not answer at .*\): make up first/);
  const refused = await setUp(t, {}, 401);
  assert.match((await refused.route()).stderr, /switch does not accept the token/);
  for (const [text, says] of [
    ['{', /is not JSON/],
    ['[]', /must hold one TASK_DISPATCH/],
  ] as const) {
    writeFileSync(join(dir, 'bad.json'), text);
    const { code, stderr } = await refused.route('--file', join(dir, 'bad.json'));
    assert.equal(code, 1);
    assert.match(stderr, says);
  }
  const missing = await refused.route('--file', join(dir, 'none.json'));
  assert.match(missing.stderr, /cannot be read/);
  assert.equal(missing.code, 2);
});
