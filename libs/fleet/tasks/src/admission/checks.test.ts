import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import type { TaskDispatch } from '@hermes-fleet/protocol/handshake';
import { asks, caller, dirty, dispatchOf, inputs, NOW, sick } from '../../testing/admission.ts';
import type { AdmissionInputs } from './checks.ts';
import { admit, admitRelayed } from './checks.ts';

describe('admission', () => {
  it('admits a task whose requirements are met', async () => {
    const unmet = await admit({
      dispatch: dispatchOf({
        task: { tokenBudget: 205, path: ['switch'] },
        requirements: {
          requiredMcp: ['memory'],
          requiredCapabilities: ['terminal'],
          modelTier: { min: 'haiku', max: 'opus' },
          minContextWindow: 1_000,
        },
        deadline: new Date(NOW + 1).toISOString(),
      }),
      caller,
      inputs,
    });
    assert.deepEqual(unmet, []);
  });

  const cases: [string, TaskDispatch, Partial<AdmissionInputs>, string, RegExp, boolean][] = [
    [
      'an unsupported major version',
      dispatchOf({ protocolVersion: '3.1' }),
      {},
      'version',
      /version 3\.1 is not supported here, only 2\.0/,
      false,
    ],
    [
      'a cycle',
      dispatchOf({ task: { path: ['switch', 'neo'] } }),
      {},
      'path',
      /came through neo before \(switch > neo\)/,
      false,
    ],
    [
      'a long path',
      dispatchOf({ task: { path: [...'abcdefghi'] } }),
      {},
      'path',
      /9 profiles, at most 8/,
      false,
    ],
    [
      'a cycle among other profiles',
      dispatchOf({ task: { path: ['switch', 'trinity', 'switch'] } }),
      {},
      'path',
      /came through switch before \(switch > trinity > switch\)/,
      false,
    ],
    [
      'a past deadline',
      dispatchOf({ deadline: new Date(NOW).toISOString() }),
      {},
      'deadline',
      /has passed/,
      false,
    ],
    ['an MCP server that is not configured', asks('nope'), {}, 'mcp', /"nope" is not configured/, false],
    [
      'an MCP server that hangs',
      asks('trek'),
      sick('timeout', 'timeout after 1000 ms'),
      'mcp',
      /^required MCP server "trek" is not healthy \(timeout after 1000 ms\)$/,
      true,
    ],
    ['an MCP server that fails', asks('trek'), sick('error', ''), 'mcp', /not healthy \(error\)/, true],
    ['a disabled MCP server', asks('trek'), sick('disabled', ''), 'mcp', /not healthy \(disabled\)/, false],
    [
      'a missing capability',
      dispatchOf({ requirements: { requiredCapabilities: ['browser'] } }),
      {},
      'capability',
      /"browser" is not available/,
      false,
    ],
    [
      'another tier',
      dispatchOf({ requirements: { modelTier: { min: 'opus' } } }),
      {},
      'tier',
      /tier sonnet is outside the required opus to any/,
      false,
    ],
    [
      'a window that is too small',
      dispatchOf({ requirements: { minContextWindow: 1_001 } }),
      {},
      'context',
      /window 1000 is below the 1001 tokens required/,
      false,
    ],
    [
      'a brief that does not fit',
      dispatchOf({ brief: 'x'.repeat(1_001) }),
      {},
      'context',
      /window 1000 is below the 1001 tokens of the brief/,
      false,
    ],
    [
      'a budget below the floor',
      dispatchOf({ task: { tokenBudget: 199 } }),
      {},
      'budget',
      /budget 199 is below the 200/,
      false,
    ],
    [
      'a budget that does not pay for the brief',
      dispatchOf({ brief: 'x'.repeat(900), task: { tokenBudget: 1_000 } }),
      {},
      'budget',
      /budget 1000 is below the 1100/,
      false,
    ],
    [
      'a dirty tree',
      dispatchOf(),
      { repoState: dirty },
      'repo',
      /^the working tree \/app is dirty \(branch wip; changed: a\.txt\), .*: commit or stash the changes, or send the task with write: false$/,
      false,
    ],
    [
      'a dirty tree in which a task works that commits the changes',
      dispatchOf(),
      { repoState: async () => ({ ...(await dirty()), inUse: true }) },
      'repo',
      /^the working tree \/app is dirty .*: a task that made the changes is unfinished, so wait for its end$/,
      true,
    ],
    [
      'a broken repository, also for a task that reads',
      dispatchOf({ task: { write: false } }),
      { repoState: async () => ({ branch: '', clean: true, problem: 'git cannot read base.git' }) },
      'repo',
      /cannot work with its repositories: git cannot read base.git/,
      true,
    ],
    [
      'a full queue',
      dispatchOf(),
      { queue: { full: true, waiting: 7 } },
      'capacity',
      /queue of neo is full \(7 waiting\)/,
      true,
    ],
    [
      'a machine without room for another process',
      dispatchOf(),
      { repoState: () => Promise.reject(new FleetError('CAPACITY', 'no process can be started (EAGAIN)')) },
      'capacity',
      /EAGAIN/,
      true,
    ],
    [
      'a machine whose disk is nearly full',
      dispatchOf(),
      {
        shortage: () => ({ kind: 'capacity', name: 'disk', detail: '3 MiB are left', transient: true }),
      },
      'capacity',
      /3 MiB/,
      true,
    ],
  ];
  for (const [what, dispatch, changed, kind, detail, transient] of cases)
    it(`blocks ${what}`, async () => {
      const unmet = await admit({ dispatch, caller, inputs: { ...inputs, ...changed } });
      assert.deepEqual(
        unmet.map((entry) => [entry.kind, entry.transient]),
        [[kind, transient]],
      );
      assert.match(unmet[0]?.detail ?? '', detail);
    });

  it('blocks a caller without the scope', async () => {
    const unmet = await admit({
      dispatch: dispatchOf(),
      caller: { name: 'x', scopes: new Set(['read']) },
      inputs,
    });
    assert.match(unmet[0]?.detail ?? '', /caller x lacks the scope "dispatch"/);
  });

  it('probes only the required MCP servers', async () => {
    const asked: unknown[] = [];
    const mcp: AdmissionInputs['mcp'] = {
      names: () => ['memory', 'other'],
      probe: async (name, o) => {
        asked.push([name, o]);
        return { state: 'ok', detail: '' };
      },
    };
    await admit({ dispatch: asks('memory'), caller, inputs: { ...inputs, mcp } });
    assert.deepEqual(asked, [['memory', { maxAgeMs: 5_000, timeoutMs: 1_000 }]]);
  });

  describe('the model', () => {
    const watch = (before: string, after = before) => {
      const asked: unknown[] = [];
      const measured = (state: string) =>
        state === 'ok'
          ? ({ state: 'ok', detail: 'answers' } as const)
          : ({ state: 'error', detail: 'its provider answered 503' } as const);
      const probe = async (o: object) => {
        asked.push(o);
        return measured(after);
      };
      return { asked, modelWatch: { health: () => measured(before), probe } };
    };
    const failing = dispatchOf({ task: { tokenBudget: 1 } });

    it('blocks a task, for now, when a probe finds it not healthy', async () => {
      const { asked, modelWatch } = watch('ok', 'error');
      const unmet = await admit({ dispatch: dispatchOf(), caller, inputs: { ...inputs, modelWatch } });
      const detail = 'the model offline/runbook of neo is not healthy (its provider answered 503)';
      assert.deepEqual(unmet, [{ kind: 'capability', name: 'model', detail, transient: true }]);
      assert.deepEqual(asked, [{ maxAgeMs: 5_000, timeoutMs: 1_000 }]);
    });

    it('admits a task when it is found to be back', async () => {
      const { modelWatch } = watch('error', 'ok');
      assert.deepEqual(
        await admit({ dispatch: dispatchOf(), caller, inputs: { ...inputs, modelWatch } }),
        [],
      );
    });

    it('is not asked for a task that is blocked anyway; what is known of it is reported', async () => {
      for (const [state, kinds] of [
        ['ok', ['budget']],
        ['error', ['capability', 'budget']],
      ] as const) {
        const { asked, modelWatch } = watch(state);
        const unmet = await admit({ dispatch: failing, caller, inputs: { ...inputs, modelWatch } });
        assert.deepEqual([unmet.map(({ kind }) => kind), asked], [kinds, []]);
      }
    });

    it('of an orchestrator does not matter for a relayed task', async () => {
      const { asked, modelWatch } = watch('error');
      const relayed = { dispatch: dispatchOf(), caller, inputs: { ...inputs, modelWatch } };
      assert.deepEqual([await admitRelayed(relayed), asked], [[], []]);
    });
  });

  it('does not count tokens of a short brief, nor ask for a clean tree for a read-only task', async () => {
    const strict: AdmissionInputs = {
      ...inputs,
      countTokens: () => assert.fail('counted'),
      repoState: dirty,
    };
    const dispatch = dispatchOf({ task: { write: false } });
    assert.deepEqual(await admit({ dispatch, caller, inputs: strict }), []);
  });

  for (const [through, kinds] of [
    [7, []],
    [8, ['path']],
  ] as const)
    it(`counts this profile in the path of a relayed task: ${through} before is ${kinds.join() || 'admitted'}`, async () => {
      const dispatch = dispatchOf({ task: { path: [...'abcdefgh'].slice(0, through) } });
      const kindsOf = (unmet: readonly { kind: string }[]) => unmet.map(({ kind }) => kind);
      assert.deepEqual(kindsOf(await admitRelayed({ dispatch, caller, inputs: inputs })), kinds);
      assert.deepEqual(kindsOf(await admit({ dispatch, caller, inputs: inputs })), []);
    });

  it('leaves the requirements of a relayed task to routing', async () => {
    const dispatch = dispatchOf({ requirements: { requiredMcp: ['nope'], requiredCapabilities: ['fly'] } });
    assert.deepEqual(await admitRelayed({ dispatch, caller, inputs: inputs }), []);
    const past = dispatchOf({ deadline: new Date(NOW).toISOString() });
    assert.deepEqual(
      (await admitRelayed({ dispatch: past, caller, inputs: inputs })).map(({ kind }) => kind),
      ['deadline'],
    );
  });
});
