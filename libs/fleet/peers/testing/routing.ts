import type { TaskDispatch } from '@hermes-fleet/protocol/handshake';
import type { PeerCard, PeerProfile } from '../src/peer-profile.ts';
import type { RoutingPolicy } from '../src/routing/policy.ts';
import { announceOf, NOW, peerOf } from './fakes.ts';

/** The routing policy of switch, with the defaults of fleet.yaml. */
export const POLICY: RoutingPolicy = {
  self: 'switch',
  versions: ['2.0'],
  tiers: ['haiku', 'sonnet', 'opus'],
  smallBelowTokens: 2_000,
  largeAboveTokens: 50_000,
};

type Extra = Partial<Omit<TaskDispatch, 'task'>> & { task?: Partial<TaskDispatch['task']> };

/** A dispatch without requirements, with the given fields. */
export const dispatchOf = ({ task, ...rest }: Extra = {}): TaskDispatch => ({
  type: 'TASK_DISPATCH',
  protocolVersion: '2.0',
  task: { taskId: 't-1', ...task },
  brief: 'do it',
  ...rest,
});

/** A peer without an announce whose agent card was just read. */
export const cardOnly = (
  name: string,
  card: Partial<PeerCard>,
  overrides: Partial<PeerProfile> = {},
): PeerProfile =>
  peerOf(name, {
    announce: undefined,
    receivedAt: undefined,
    card: { handshake: true, versions: [], readAt: NOW, ...card },
    ...overrides,
  });

/** A peer without the handshake. */
export const prosePeer = (name: string, overrides: Partial<PeerProfile> = {}): PeerProfile =>
  cardOnly(name, { handshake: false }, overrides);

/** A peer with a healthy worker's announce and these changes. */
export const announcing = (
  name: string,
  announce: Parameters<typeof announceOf>[1],
  overrides: Partial<PeerProfile> = {},
): PeerProfile => peerOf(name, { announce: announceOf(name, announce), ...overrides });
