import type { Read } from '@hermes-fleet/net/api';
import { FLEET, type PeerState } from '@hermes-fleet/protocol/api';
import { repositoriesAmong } from '@hermes-fleet/protocol/handshake';
import { fleetApi } from '../client/api.ts';
import { command } from '../command-line/command.ts';
import { type Cell, table } from '../command-line/output.ts';
import { peersUsage } from '../command-specs/fleet.ts';
import { findProfile } from '../running/running-fleet.ts';

/** `fleet peers`: prints every peer that a profile knows, with its state. */
const peersCommand = command(peersUsage, async ({ values, env, show }) => {
  const target = await findProfile(values, env);
  show(await fleetApi().call(target, FLEET.peers), ({ peers }) => {
    const repositories = peers.map(({ announce }) => repositoriesAmong(announce?.tools ?? []).join(', '));
    const none = `${target.name} knows no peer`;
    if (repositories.every((names) => names === '')) return table(HEAD, peers.map(row), none);
    const rows = peers.map((peer, at) => [...row(peer), repositories[at] || null]);
    return table([...HEAD, 'repositories'], rows, none);
  });
});

export const commands = [peersCommand];

const HEAD = [
  'peer',
  'standing',
  'state',
  'age',
  'tier',
  'model',
  'load',
  'circuit',
  'MCP servers',
  'address',
];

type Peer = Read<typeof PeerState>;

function row({ name, standing, state, age_s: age, announce, circuit, endpoint }: Peer): Cell[] {
  const health = Object.entries(announce?.mcp_health ?? {}).map(([server, found]) => `${server} ${found}`);
  return [
    name,
    standing,
    `${state}${announce?.ready === false ? ', not ready' : ''}${changesOf(announce?.repo_state)}`,
    age === null ? null : `${age} s`,
    announce?.model_tier,
    announce && modelOf(announce),
    announce && loadOf(announce),
    circuit,
    health.join(', ') || null,
    endpoint,
  ];
}

type Announced = NonNullable<Peer['announce']>;

/** The model, and its health if that is not ok. */
const modelOf = ({ model, model_health: health }: Announced): string =>
  health === 'ok' || health === null ? model : `${model}, ${health}`;

/** `running/maximum +queued`, as the peer announces it. */
function loadOf({ active_tasks, max_concurrent_tasks, queued_tasks }: Announced): string {
  const running = `${active_tasks}/${max_concurrent_tasks ?? '-'}`;
  return queued_tasks ? `${running} +${queued_tasks}` : running;
}

/** Names uncommitted changes: of the tree in which tasks work, or of the repository that their trees are made from. */
function changesOf(
  repository: { clean: boolean; base_clean?: boolean | null | undefined } | undefined,
): string {
  if (repository?.clean === false) return ', tree not clean';
  return repository?.base_clean === false ? ', base not clean' : '';
}
