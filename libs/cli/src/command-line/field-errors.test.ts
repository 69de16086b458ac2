import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fleet, profileStub } from '../testing/profile-stub.ts';

for (const [args, message] of [
  [['send', 'x', '--budget', '0'], '--budget must be greater than 0'],
  [['send', 'x', '--budget', '9'.repeat(20)], `--budget must be at most ${Number.MAX_SAFE_INTEGER}`],
  [['send', 'x', '--priority', 'now'], '--priority must be one of low, normal, high, urgent'],
  [['send', 'x', '--to', ''], '--to must not be empty'],
  [['send', 'x', '--mcp', 'a,,'], '--mcp must not be empty'],
  [['send', 'x', '--task-id', 'a'.repeat(201)], '--task-id must have at most 200 characters'],
  [['send', 'x', '--context', ''], '--context must not be empty'],
  [['route', '--target', ''], '--target must not be empty'],
  [['route', '--tier-min', ''], '--tier-min must not be empty'],
  [['route', '--deadline', 'soon'], '--deadline must be a time with its zone, such as 2030-01-01T00:00:00Z'],
] as const)
  test(`fleet ${args.join(' ').slice(0, 40)}: the error names the option`, async (t) => {
    const stub = await profileStub(t, {});
    const ended = await fleet([...args, '--dir', stub.dir, '--reach', `switch=${stub.url}`]);
    const stderr = `fleet: ${message}\nhint: fleet ${args[0]} --help\n`;
    assert.deepEqual(ended, { code: 2, stdout: '', stderr });
    assert.deepEqual(stub.asked, []);
  });

test('fleet trader decide names each option that is missing or invalid once', async (t) => {
  const stub = await profileStub(t, {});
  const options = ['--action', 'set_risk_mode', '--risk-mode', 'wild', '--concern', ':'];
  const { code, stderr } = await fleet(['trader', 'decide', ...options, '--dir', stub.dir]);
  assert.equal(code, 2);
  const lines = [
    '--concern must not be empty',
    '--risk-mode must be one of normal, cautious, reduce_only, halted',
    '--reason is missing',
  ];
  assert.equal(stderr, `fleet: ${lines.join('\n  ')}\nhint: fleet trader decide --help\n`);
});

test('the fields that a profile refuses are explained in the same words', async (t) => {
  const fields = [{ path: 'task.token_budget', reason: 'Too small: expected number to be >0' }];
  const stub = await profileStub(t, {
    '/fleet/route': { status: 400, body: { error: { message: 'not valid', fields } } },
  });
  const args = ['route', '--dir', stub.dir, '--reach', `switch=${stub.url}`];
  const { stderr } = await fleet(args);
  assert.equal(
    stderr,
    'fleet: switch answered HTTP 400: not valid\n  task.token_budget: must be greater than 0\n',
  );
  assert.deepEqual(JSON.parse((await fleet([...args, '--json'])).stdout).error.fields, fields);
});
