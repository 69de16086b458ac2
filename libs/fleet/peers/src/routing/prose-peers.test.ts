import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { announcing, dispatchOf, NOW, POLICY, peerOf, prosePeer } from '../../testing/index.ts';
import { route } from './route.ts';

const HARMLESS = dispatchOf({ task: { write: false } });

describe('routing: prose peers', () => {
  it('chooses one that is the target, whatever is required', () => {
    const dispatch = dispatchOf({
      task: { write: true },
      requirements: {
        requiredMcp: ['memory'],
        requiredCapabilities: ['terminal'],
        modelTier: { min: 'opus' },
        minContextWindow: 1_000_000,
      },
      routing: { target: 'stock' },
    });
    const { chosen, considered } = route(dispatch, [prosePeer('stock'), peerOf('neo')], POLICY, NOW);
    assert.equal(chosen, 'stock');
    assert.match(considered[0]?.reasons[0] ?? '', /speaks prose: requirements travel as hints/);
  });

  it('chooses one under auto for a task that requires nothing and does not write', () => {
    assert.equal(route(HARMLESS, [prosePeer('stock')], POLICY, NOW).chosen, 'stock');
    const preferring = { ...HARMLESS, requirements: { requiredMcp: [], modelTier: { prefer: 'opus' } } };
    assert.equal(route(preferring, [prosePeer('stock')], POLICY, NOW).chosen, 'stock');
  });

  it('prefers a worker of any tier that has no queue', () => {
    const idle = announcing('neo', { worker: { modelTier: 'haiku' } });
    const full = announcing('neo', { session: { activeTasks: 8 } });
    assert.equal(route(HARMLESS, [prosePeer('stock'), idle], POLICY, NOW).chosen, 'neo');
    assert.equal(route(HARMLESS, [prosePeer('stock'), full], POLICY, NOW).chosen, 'stock');
  });

  it('excludes one that failed, refused, or is in the path, even as the target', () => {
    const dispatch = dispatchOf({ routing: { target: 'stock' } });
    const decided = [
      route(dispatch, [prosePeer('stock', { circuitOpenUntil: NOW + 1 })], POLICY, NOW),
      route(dispatch, [prosePeer('stock')], { ...POLICY, excluded: new Map([['stock', 'no']]) }, NOW),
      route({ ...dispatch, task: { taskId: 't', path: ['stock'] } }, [prosePeer('stock')], POLICY, NOW),
    ];
    assert.deepEqual(
      decided.map(({ chosen, waitable }) => [chosen, waitable]),
      [
        [undefined, true],
        [undefined, true],
        [undefined, false],
      ],
    );
  });

  it('scores them by load, refusals and latency', () => {
    const worse = [{ inFlight: 1 }, { blockedRate: 0.5 }, { latencyMs: 2_000 }];
    for (const health of worse) {
      const peers = [prosePeer('a', health), prosePeer('b')];
      assert.equal(route(HARMLESS, peers, POLICY, NOW).chosen, 'b', JSON.stringify(health));
    }
  });

  it('gives prose peers no task with requirements, and says why', () => {
    const dispatch = dispatchOf({ requirements: { requiredMcp: ['memory'] } });
    const { unmet, waitable } = route(dispatch, [prosePeer('stock')], POLICY, NOW);
    assert.match(unmet[0]?.detail ?? '', /^stock: speaks prose/);
    assert.deepEqual([unmet[0]?.kind, unmet[0]?.transient, waitable], ['capability', false, false]);
  });
});
