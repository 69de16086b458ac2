import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fleet, profileStub } from '../testing/profile-stub.ts';

const ID = 'a/b c';
const path = (results: string): string => `/fleet/contexts/a%2Fb%20c?results=${results}`;
const answer = (rest: object) => ({
  context_id: ID,
  tasks: 2,
  files: true,
  result: 'none',
  peers: [],
  ...rest,
});

async function deleting(
  t: Parameters<typeof profileStub>[0],
  body: unknown,
  status = 200,
  ...more: string[]
) {
  const answers = { [path('keep')]: { status, body }, [path('delete')]: { status, body } };
  const stub = await profileStub(t, answers);
  const args = ['context', 'delete', ID, '--dir', stub.dir, '--reach', `switch=${stub.url}`, ...more];
  return { ...(await fleet(args)), stub };
}

test('context delete says what was deleted', async (t) => {
  const peers = [{ peer: 'neo', context_id: ID, state: 'deleted' }];
  const { code, stdout, stub } = await deleting(t, answer({ peers }));
  assert.equal(code, 0);
  assert.equal(
    stdout,
    'switch: context a/b c: tasks deleted: 2; its files are removed; it has no result\n  neo: deleted\n',
  );
  assert.deepEqual(stub.asked, [
    { method: 'DELETE', path: path('keep'), token: stub.token, body: undefined },
  ]);
});

test('--results delete is passed on, and --json prints the answer', async (t) => {
  const body = answer({ result: 'deleted' });
  const { code, stdout } = await deleting(t, body, 200, '--results', 'delete', '--json');
  assert.deepEqual([code, JSON.parse(stdout)], [0, body]);
});

test('what is pending is no error, what nobody will delete is one', async (t) => {
  const peers = [{ peer: 'neo', state: 'pending', detail: 'neo does not answer (ECONNREFUSED)' }];
  const pending = await deleting(t, answer({ files: false, result: 'pending', peers }));
  assert.equal(pending.code, 0);
  assert.equal(
    pending.stdout,
    [
      'switch: context a/b c: tasks deleted: 2; its files, or what it left in the ledger, are not removed yet',
      '  neo: pending: neo does not answer (ECONNREFUSED)',
      'switch goes on with what is pending; the same command shows how far it is',
      '',
    ].join('\n'),
  );
  for (const state of ['unsupported', 'refused']) {
    const left = await deleting(
      t,
      answer({ result: 'kept', peers: [{ peer: 'neo', state, detail: 'upgrade\u001b it' }] }),
    );
    assert.equal(left.code, 1);
    assert.match(left.stdout, new RegExp(`is kept\\n {2}neo: ${state}: upgrade\ufffd it\\n$`));
  }
});

test("the profile's refusal is an error with its message", async (t) => {
  const error = { code: 'CONTEXT_IN_USE', message: 'context a/b c has unfinished tasks (t-1): cancel them' };
  const { code, stderr } = await deleting(t, { error }, 409);
  assert.equal(code, 1);
  assert.match(stderr, /switch answered HTTP 409: context a\/b c has unfinished tasks \(t-1\): cancel them/);
});

for (const [args, message] of [
  [['context'], /context needs a command: delete/],
  [['context', 'drop', 'c'], /unknown command 'drop'/],
  [['context', 'delete'], /the id of one context/],
  [['context', 'delete', 'a', 'b'], /the id of one context/],
  [['context', 'delete', ''], /the id of one context/],
  [['context', 'delete', '.'], /no URL can name the context "\."/],
  [['context', 'delete', '..'], /no URL can name the context "\.\."/],
  [['context', 'delete', 'a', '--results', 'all'], /--results must be keep or delete, not "all"/],
] as const)
  test(`fleet ${args.join(' ')} is a usage error`, async () => {
    const { code, stderr } = await fleet([...args]);
    assert.equal(code, 2);
    assert.match(stderr, message);
  });
