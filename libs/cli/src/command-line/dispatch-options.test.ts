import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { dispatchOf, withRepository } from './dispatch-options.ts';

const Sent = z.looseObject({
  task: z.looseObject({ repository: z.unknown().optional() }),
  requirements: z.looseObject({ required_capabilities: z.array(z.string()).optional() }),
});
const sent = (values: Parameters<typeof dispatchOf>[0]) => Sent.parse(dispatchOf(values));

describe('--repo and --base', () => {
  it('name the repository of the task, and require its capability, which profiles of earlier releases know', () => {
    const { task, requirements } = sent({ repo: 'web', base: 'release/1.2', capability: ['file'] });
    assert.deepEqual(task.repository, { name: 'web', base: 'release/1.2' });
    assert.deepEqual(requirements.required_capabilities, ['file', 'repository:web']);
    assert.deepEqual(sent({ repo: 'web' }).task.repository, { name: 'web' });
    const { task: other, requirements: none } = sent({});
    assert.deepEqual([other.repository, none.required_capabilities], [undefined, undefined]);
  });

  it('of a path requires the capability to work on checkouts, whose bundle is named once it is sent', () => {
    for (const repo of ['.', '..', '../web', '/web', 'web/']) {
      const { task, requirements } = sent({ repo, capability: ['file'] });
      assert.deepEqual(
        [task.repository, requirements.required_capabilities],
        [undefined, ['file', 'repository:bundle']],
      );
    }
    const repository = { name: 'web', bundle: 'b'.repeat(64), base: 'c'.repeat(40) };
    const { task, requirements } = Sent.parse(withRepository(dispatchOf({ repo: '.' }), repository));
    assert.deepEqual(task.repository, repository);
    assert.deepEqual(requirements.required_capabilities, ['repository:bundle', 'repository:web']);
  });

  for (const [values, words] of [
    [{ repo: 'a b' }, /^--repo must be 1 to 63 letters, digits, ".", "_" or "-"$/],
    [{ repo: '' }, /^--repo must be 1 to 63 letters/],
    [{ repo: 'web', base: 'a..b' }, /^--base must be the name of a branch, such as main or release\/1\.2$/],
    [{ base: 'main' }, /^--base goes with --repo and the name of a repository; /],
    [{ repo: './web', base: 'main' }, /; of a checkout, the commit that is checked out is sent$/],
  ] as const)
    it(`are refused: ${JSON.stringify(values)}`, () =>
      assert.throws(() => dispatchOf(values), { name: 'UsageError', message: words }));
});
