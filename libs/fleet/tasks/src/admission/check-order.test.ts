import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { dirty, dispatchOf, inputs, NOW, sick } from '../../testing/admission.ts';
import { admit, admitRelayed } from './checks.ts';

describe('the order of the admission checks', () => {
  it('collects every unmet requirement in the documented order', async () => {
    const unmet = await admit({
      dispatch: dispatchOf({
        task: { path: ['neo'], tokenBudget: 1 },
        requirements: {
          requiredMcp: ['nope', 'nope'],
          requiredCapabilities: ['browser', 'fly'],
          modelTier: { max: 'haiku' },
          minContextWindow: 2_000,
        },
        deadline: new Date(NOW - 1).toISOString(),
      }),
      caller: { name: 'x', scopes: new Set() },
      inputs: {
        ...inputs,
        repoState: dirty,
        queue: { full: true, waiting: 1 },
      },
    });
    assert.deepEqual(
      unmet.map(({ kind }) => kind),
      [
        'scope',
        'path',
        'deadline',
        'mcp',
        'capability',
        'capability',
        'tier',
        'context',
        'budget',
        'capacity',
      ],
    );
  });

  it('names the unmet requirements of every kind, in the documented order', async () => {
    const unmet = await admit({
      dispatch: dispatchOf({
        task: { path: ['a', 'b', 'neo', 'd', 'e', 'f', 'g', 'h', 'i'], tokenBudget: 1, write: true },
        requirements: {
          requiredMcp: ['trek', 'nope'],
          requiredCapabilities: ['browser', 'fly'],
          modelTier: { max: 'haiku' },
          minContextWindow: 2_000,
        },
        deadline: new Date(NOW - 1).toISOString(),
        brief: 'x'.repeat(1_001),
      }),
      caller: { name: 'x', scopes: new Set() },
      inputs: {
        ...inputs,
        ...sick('timeout', 'timeout after 1000 ms'),
        repoState: dirty,
        queue: { full: true, waiting: 1 },
      },
    });
    assert.deepEqual(
      unmet.map(({ kind, name }) => `${kind} ${name}`),
      [
        'scope dispatch',
        'path neo',
        'path a > b > neo > d > e > f > g > h > i',
        'deadline 2026-05-31T19:59:59.999Z',
        'mcp trek',
        'mcp nope',
        'capability browser',
        'capability fly',
        'tier sonnet',
        'context min_context_window',
        'context brief',
        'budget token_budget',
        'repo wip',
        'capacity queue',
      ],
    );
    assert.ok(unmet.every(({ detail }) => detail !== '' && !detail.includes('\n')));
  });

  it('reports an unsupported major version alone', async () => {
    const dispatch = dispatchOf({ protocolVersion: '9.0', deadline: new Date(NOW - 1).toISOString() });
    const unmet = await admit({ dispatch, caller: { name: 'x', scopes: new Set() }, inputs: inputs });
    assert.deepEqual(
      unmet.map(({ kind }) => kind),
      ['version'],
    );
  });

  it('reports a profile without a model alone, and checks nothing else', async () => {
    const none = { id: 'none', tier: 'none', contextWindow: 0 };
    const dispatch = dispatchOf({ task: { tokenBudget: 1 }, requirements: { requiredMcp: ['memory'] } });
    const looking = {
      countTokens: () => assert.fail('counted'),
      repoState: () => assert.fail('looked'),
      mcp: { names: () => assert.fail('asked'), probe: () => assert.fail('probed') },
    };
    for (const judge of [admit, admitRelayed]) {
      const unmet = await judge({
        dispatch,
        caller: { name: 'x', scopes: new Set() },
        inputs: { ...inputs, ...looking, model: none },
      });
      const detail = 'neo takes no tasks: send a CONTROL_DECISION (apply_control_decision)';
      assert.deepEqual(unmet, [{ kind: 'capability', name: 'neo', detail, transient: false }]);
    }
  });
});
