import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TaskDispatch } from '@hermes-fleet/protocol/handshake';
import { DIRTY, limits, ROWS, type Row } from '../../testing/exclusion-rows.ts';
import { announcing, dispatchOf, NOW, POLICY, peerOf } from '../../testing/index.ts';
import type { PeerProfile } from '../peer-profile.ts';
import { route } from './route.ts';

const decide = ({ peer, dispatch = dispatchOf(), policy }: Row) =>
  route(dispatch, [peer], { ...POLICY, ...policy }, NOW);

describe('routing: hard reasons', () => {
  for (const row of ROWS)
    it(`excludes ${row.what}`, () => {
      const { chosen, considered, unmet, waitable } = decide(row);
      assert.equal(chosen, undefined);
      assert.deepEqual([considered[0]?.verdict, considered[0]?.score], ['excluded', 0]);
      assert.match(considered[0]?.reasons.join('; ') ?? '', row.reason);
      assert.ok(unmet.length > 0, 'says why');
      assert.equal(waitable, row.waitable, 'waitable');
    });

  it('gives each reason the kind that is in the result', () => {
    for (const row of ROWS) {
      const { unmet } = decide(row);
      const isPeerless = unmet[0]?.kind === 'peer' && row.kind !== 'peer';
      assert.ok(isPeerless || unmet.some(({ kind }) => kind === row.kind), `${row.what}: ${unmet[0]?.kind}`);
    }
  });

  it('judges only what this version knows of an announce', () => {
    const hostile = { mcpDetail: { memory: { toString: 1, valueOf: 1 } }, isWindowPending: true };
    const peer = announcing('neo', { mcpHealth: { memory: 'error' }, ...hostile });
    const requirements = { requiredMcp: ['memory'], minContextWindow: 10_000_000 };
    const { considered } = route(dispatchOf({ requirements }), [peer], POLICY, NOW);
    const reasons = considered[0]?.reasons.join('; ') ?? '';
    assert.match(reasons, /not healthy \(error\)/);
    assert.doesNotMatch(reasons, /until the provider/);
  });

  for (const [what, inUse] of [
    ['says that a task works there', true],
    ['does not say whose the changes are', undefined],
  ] as const)
    it(`waits for the dirty tree of a peer that ${what}`, () => {
      const session = { repoState: { branch: 'x', clean: false, ...(inUse && { inUse }) } };
      const { unmet, waitable } = route(dispatchOf(), [announcing('neo', { session })], POLICY, NOW);
      assert.match(unmet[0]?.detail ?? '', /: the task that works there is not finished$/);
      assert.equal(waitable, true);
    });

  it('does not wait for changes of a person, whatever other tasks the peer has', () => {
    const busy = { ...DIRTY, session: { ...DIRTY.session, activeTasks: 1 }, ...limits(4, 5, 1) };
    const { unmet, waitable } = route(dispatchOf(), [announcing('neo', busy)], POLICY, NOW);
    assert.match(unmet[0]?.detail ?? '', /: commit or stash the changes there/);
    assert.equal(waitable, false);
  });

  it('names every reason of a peer at once', () => {
    const peer = announcing(
      'neo',
      { ...DIRTY, ...limits(1, 2, 2), mcpHealth: { memory: 'error' } },
      { circuitOpenUntil: NOW + 1 },
    );
    const dispatch = dispatchOf({
      task: { path: ['neo'], write: true },
      requirements: {
        requiredMcp: ['memory', 'trek'],
        requiredCapabilities: ['browser', 'fly'],
        modelTier: { min: 'opus' },
        minContextWindow: 1_000_000,
      },
    });
    const { considered } = route(dispatch, [peer], POLICY, NOW);
    assert.equal(considered[0]?.reasons.length, 10, considered[0]?.reasons.join('; '));
  });
});

describe('routing: eligible peers', () => {
  const fine: [string, PeerProfile, TaskDispatch][] = [
    ['an announce at the end of its TTL', peerOf('neo', { receivedAt: NOW - 90_000 }), dispatchOf()],
    ['a circuit that is open no longer', peerOf('neo', { circuitOpenUntil: NOW }), dispatchOf()],
    ['another minor version', announcing('neo', { protocolVersions: ['3.0', '2.7'] }), dispatchOf()],
    [
      'a dirty tree for a task that does not write',
      announcing('neo', DIRTY),
      dispatchOf({ task: { write: false } }),
    ],
    [
      'an unhealthy MCP server that is not required',
      announcing('neo', { mcpHealth: { memory: 'error' } }),
      dispatchOf(),
    ],
    [
      'a tier that no list names, for an open range',
      announcing('neo', { worker: { modelTier: 'nano' } }),
      dispatchOf(),
    ],
    ['a model that is healthy', announcing('neo', { modelHealth: 'ok' }), dispatchOf()],
    ['a peer that announces no health of its model', announcing('neo', {}), dispatchOf()],
    ['a peer that joined', peerOf('neo', { standing: 'joined' }), dispatchOf()],
    [
      'an old card with another major version beside a live announce',
      peerOf('neo', { card: { handshake: true, versions: ['3.0'], readAt: 0 } }),
      dispatchOf(),
    ],
    [
      'a card without the handshake beside a live announce',
      peerOf('neo', { card: { handshake: false, versions: [], readAt: NOW } }),
      dispatchOf({ requirements: { requiredMcp: ['memory'] } }),
    ],
  ];
  for (const [what, peer, dispatch] of fine)
    it(`accepts ${what}`, () => assert.equal(route(dispatch, [peer], POLICY, NOW).chosen, 'neo'));
});
