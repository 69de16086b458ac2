import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Unmet } from '@hermes-fleet/protocol/handshake';
import { caller, dispatchOf, inputs } from '../../testing/admission.ts';
import { admit } from './checks.ts';

const OK = { state: 'ok', detail: 'answers' } as const;

/** Admits a task that needs 9,000 tokens to a profile that assumes 1,000, until a probe says what its window is. */
async function admitted(learnt: number | undefined): Promise<{ unmet: readonly Unmet[]; probes: number }> {
  const state = { window: 1_000, isPending: true };
  const model = {
    id: 'm',
    tier: 'sonnet',
    get contextWindow() {
      return state.window;
    },
    get isWindowPending() {
      return state.isPending;
    },
  };
  let probes = 0;
  const probe = async () => {
    probes += 1;
    if (learnt !== undefined) Object.assign(state, { window: learnt, isPending: false });
    return OK;
  };
  const dispatch = dispatchOf({ requirements: { minContextWindow: 9_000 } });
  const modelWatch = { health: () => OK, probe };
  const unmet = await admit({ dispatch, caller, inputs: { ...inputs, model, modelWatch } });
  return { unmet, probes };
}

it('a model is probed before an assumed window keeps a task away, and the task is judged by what it finds', async () => {
  assert.deepEqual((await admitted(10_000)).unmet, []);
  const small = await admitted(2_000);
  const detail = 'context window 2000 is below the 9000 tokens required';
  assert.deepEqual(small, {
    unmet: [{ kind: 'context', name: 'min_context_window', detail, transient: false }],
    probes: 1,
  });
});

it('a window that is not known yet blocks a task for the moment only', async () => {
  const { unmet } = await admitted(undefined);
  const detail =
    'context window 1000, until the provider of the model can be asked, is below the 9000 tokens required';
  assert.deepEqual(unmet, [{ kind: 'context', name: 'min_context_window', detail, transient: true }]);
});
