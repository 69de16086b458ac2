import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fleet, profileStub } from '../testing/profile-stub.ts';

const FREES_AT = '2030-01-02T00:00:00.000Z';

/** switch has relayed to neo: the 700 tokens of the operator's tasks there are those that neo counts as its own. */
const atSwitch = {
  profile: 'switch',
  day: '2030-01-01',
  frees_at: FREES_AT,
  tokens_per_task_tree: 5000,
  own: { tokens_per_day: null, spent: 20, reserved: 0, left: null },
  callers: { operator: { tokens_per_day: 9000, spent: 720, reserved: 280, left: 8000 } },
};
const atNeo = {
  profile: 'neo',
  day: '2030-01-01',
  frees_at: FREES_AT,
  tokens_per_task_tree: null,
  own: { tokens_per_day: 4000, spent: 700, reserved: 300, left: 3000 },
  callers: {
    switch: { tokens_per_day: null, spent: 700, reserved: 300, left: null },
    quiet: { tokens_per_day: null, spent: 0, reserved: 0, left: null },
  },
};

async function reachOf(t: TestContext, more: readonly string[] = []): Promise<string[]> {
  const first = await profileStub(t, { '/fleet/spending': { body: atSwitch } });
  const neo = await profileStub(t, { '/fleet/spending': { body: atNeo } });
  const reach = [`switch=${first.url}`, `neo=${neo.url}`, ...more];
  return ['--dir', neo.dir, ...reach.flatMap((each) => ['--reach', each])];
}

test('cost shows each profile, and counts no token twice in the sum', async (t) => {
  const { code, stdout, stderr } = await fleet(['cost', ...(await reachOf(t))]);
  assert.deepEqual([code, stderr], [0, '']);
  assert.deepEqual(stdout.split('\n'), [
    'profile  tokens of  per day  spent  reserved  left  per task tree',
    'switch   own calls  -        20     0         -     5000',
    'switch   operator   9000     720    280       8000',
    'neo      own calls  4000     700    300       3000  -',
    'neo      switch     -        700    300       -',
    `own calls together: 720 tokens; the day ends at ${FREES_AT}`,
    '',
  ]);
});

test('cost shows the others when one refuses and one is away, and names both', async (t) => {
  const refusing = await profileStub(t, { '/fleet/spending': { status: 401, body: {} } });
  const reach = await reachOf(t, [`morpheus=${refusing.url}`, 'trinity=http://127.0.0.1:2']);
  const { code, stdout, stderr } = await fleet(['cost', ...reach]);
  assert.equal(code, 1);
  assert.match(stdout, /\nneo +own calls +4000 /);
  assert.match(
    stderr,
    /^not shown: morpheus does not accept the token\nnot shown: trinity does not answer at .*\n$/,
  );
  const document = await fleet(['cost', ...reach, '--json']);
  assert.deepEqual(JSON.parse(document.stdout), {
    profiles: [atSwitch, atNeo],
    silent: ['morpheus', 'trinity'],
  });
  assert.deepEqual([document.code, document.stderr], [1, '']);
});

test('cost --profile asks one profile', async (t) => {
  const reach = await reachOf(t, ['trinity=http://127.0.0.1:2']);
  const { code, stdout } = await fleet(['cost', ...reach, '--profile', 'neo', '--json']);
  assert.deepEqual([code, JSON.parse(stdout)], [0, { profiles: [atNeo], silent: [] }]);
  const away = await fleet(['cost', ...reach, '--profile', 'trinity']);
  assert.match(away.stderr, /^fleet: no fleet runs \(trinity: no answer\): make up first\n$/);
});
