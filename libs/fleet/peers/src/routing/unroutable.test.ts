import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TaskDispatch } from '@hermes-fleet/protocol/handshake';
import { announcing, cardOnly, dispatchOf, NOW, POLICY, peerOf } from '../../testing/index.ts';
import type { PeerProfile } from '../peer-profile.ts';
import type { RoutingPolicy } from './policy.ts';
import { route } from './route.ts';

const decide = (
  peers: readonly PeerProfile[],
  dispatch = dispatchOf(),
  policy: Partial<RoutingPolicy> = {},
) => route(dispatch, peers, { ...POLICY, ...policy }, NOW);
const stale = (name: string): PeerProfile => peerOf(name, { receivedAt: NOW - 90_001 });
/** A task is at work in the tree. */
const DIRTY = { session: { repoState: { branch: 'x', clean: false, inUse: true } } };
const requiring = (requirements: NonNullable<TaskDispatch['requirements']>): TaskDispatch =>
  dispatchOf({ requirements });

describe('routing: requirements that no live peer declares', () => {
  it('are all reported, alone, and not waitable', () => {
    const dispatch = requiring({
      requiredMcp: ['memory', 'nope', 'nope'],
      requiredCapabilities: ['fly', 'terminal'],
      modelTier: { min: 'opus' },
      minContextWindow: 300_000,
    });
    const { unmet, waitable } = decide([announcing('neo', DIRTY), peerOf('trinity')], dispatch);
    assert.deepEqual(
      unmet.map(({ kind, name, transient }) => [kind, name, transient]),
      [
        ['mcp', 'nope', false],
        ['capability', 'fly', false],
        ['tier', 'opus to any', false],
        ['context', '300000', false],
      ],
    );
    assert.match(
      unmet[0]?.detail ?? '',
      /^required MCP server "nope" is not declared by any live peer \(neo, trinity\)$/,
    );
    assert.equal(waitable, false);
  });

  it('are not waitable even if a stale peer might meet them', () => {
    const { unmet, waitable } = decide(
      [peerOf('neo'), stale('trinity')],
      requiring({ requiredMcp: ['nope'] }),
    );
    assert.match(unmet[0]?.detail ?? '', /not declared by any live peer \(neo\)/);
    assert.equal(waitable, false);
  });

  it('ignore the declarations of a trader and of a peer in the path', () => {
    const trader = announcing('trader', {
      role: 'trader',
      capabilities: { tools: [], mcpServers: ['memory'] },
    });
    const bare = announcing('neo', { capabilities: { tools: [], mcpServers: [] } });
    const dispatch = requiring({ requiredMcp: ['memory'] });
    assert.match(decide([trader, bare], dispatch).unmet[0]?.detail ?? '', /any live peer \(neo\)/);
    const circular = { ...dispatch, task: { taskId: 't', path: ['trinity'] } };
    assert.match(decide([peerOf('trinity'), bare], circular).unmet[0]?.detail ?? '', /any live peer \(neo\)/);
  });

  it('name the first peers, and the number of the others', () => {
    const peers = Array.from({ length: 30 }, (_, i) => peerOf(`w${String(i).padStart(2, '0')}`));
    const { unmet } = decide(peers, requiring({ requiredMcp: ['nope'] }));
    assert.match(unmet[0]?.detail ?? '', /\(w00, .*w19 and 10 more\)$/);
  });
});

/** Combinations of transient and permanent reasons. */
const WAITING: [string, PeerProfile[], TaskDispatch, boolean][] = [
  ['nobody is configured', [], dispatchOf(), false],
  [
    'only strangers are known',
    [peerOf('x', { standing: 'known', endpoint: undefined })],
    dispatchOf(),
    false,
  ],
  ['only the asking profile is there', [peerOf('switch')], dispatchOf(), false],
  ['the target is no peer', [peerOf('neo')], dispatchOf({ routing: { target: 'ghost' } }), false],
  [
    'the target is a stranger',
    [peerOf('x', { standing: 'known', endpoint: undefined })],
    dispatchOf({ routing: { target: 'x' } }),
    false,
  ],
  ['the target is stale', [peerOf('neo'), stale('x')], dispatchOf({ routing: { target: 'x' } }), true],
  [
    'the target is dirty, and another peer is free',
    [peerOf('neo'), announcing('x', DIRTY)],
    dispatchOf({ routing: { target: 'x' } }),
    true,
  ],
  ['all are silent', [stale('neo'), peerOf('trinity', { announce: undefined })], dispatchOf(), true],
  [
    'one lacks it for good, another for now',
    [announcing('x', DIRTY), announcing('t', { role: 'trader' })],
    dispatchOf(),
    true,
  ],
  [
    'one has a reason that passes and one that does not',
    [announcing('x', { ...DIRTY, protocolVersions: ['3.0'] })],
    dispatchOf(),
    false,
  ],
  [
    'each has what the other lacks',
    [
      announcing('x', { capabilities: { tools: ['browser'], mcpServers: [] } }),
      announcing('y', { capabilities: { tools: [], mcpServers: ['memory'] } }),
    ],
    requiring({ requiredMcp: ['memory'], requiredCapabilities: ['browser'] }),
    false,
  ],
  [
    'the only one with it is sick',
    [
      announcing('x', { mcpHealth: { memory: 'timeout' } }),
      announcing('y', { capabilities: { mcpServers: [], tools: [] } }),
    ],
    requiring({ requiredMcp: ['memory'] }),
    true,
  ],
  [
    'the only silent one had the task already',
    [stale('neo')],
    dispatchOf({ task: { path: ['neo'] } }),
    false,
  ],
  [
    'all speak another version, as their cards say',
    [cardOnly('neo', { versions: ['3.0'] })],
    dispatchOf(),
    false,
  ],
  [
    'one is silent, another speaks another version',
    [stale('x'), announcing('y', { protocolVersions: ['3.0'] })],
    dispatchOf(),
    true,
  ],
];

describe('routing: waiting for a peer', () => {
  for (const [what, peers, dispatch, waitable] of WAITING)
    it(`${waitable ? 'helps' : 'does not help'}: ${what}`, () => {
      const decision = decide(peers, dispatch);
      assert.equal(decision.chosen, undefined);
      assert.equal(decision.waitable, waitable);
      assert.ok(decision.unmet.length > 0);
      if (waitable) assert.ok(decision.unmet.some(({ transient }) => transient));
    });

  it('reports the reasons of each peer by name', () => {
    const { unmet } = decide([
      announcing('y', DIRTY),
      peerOf('x', { circuitOpenUntil: NOW + 1 }),
      stale('a'),
    ]);
    assert.deepEqual(
      unmet.map(({ detail }) => detail),
      [
        'a: is stale: its last announce has expired',
        'x: keeps failing and is not asked for now',
        'y: working tree is dirty, and this is a write task: the task that works there is not finished',
      ],
    );
  });

  it('reports stale peers in one line', () => {
    const { unmet } = decide([stale('neo'), stale('a')]);
    assert.deepEqual(unmet, [
      { kind: 'peer', name: 'auto', detail: 'no live peer: a, neo not heard of lately', transient: true },
    ]);
  });

  it('bounds the reasons of a thousand peers', () => {
    const peers = Array.from({ length: 1_000 }, (_, i) => announcing(`w${i}`, DIRTY));
    const { unmet, considered, waitable } = decide(peers);
    assert.deepEqual([unmet.length, considered.length, waitable], [100, 1_000, true]);
  });
});
